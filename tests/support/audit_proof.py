"""Which checks are shown on rows alone, because no test can bring a real server there, and why."""

from typing import Final

ON_ROWS_ONLY: Final = {
    "subjects-inconsistent": "the index of a stream would have to be damaged",
    "api-inflight-high": "a thousand requests at once are answered too soon to be seen waiting",
    "consumer-replica-behind": "a copy on the same machine keeps up",
    "meta-replica-behind": "a server on the same machine keeps up",
    "meta-disagree": "the network between the nodes would have to be split",
    "meta-snapshot-slow": "the state of a small meta group is written at once",
}
