"""Responses of several servers are decoded in several threads at once, the first ones too."""

import subprocess
import sys

# In a process of its own: what is shown here, when it is wrong, ends the whole process.
PROGRAM = """
import sys, threading
from exporter.sources.decoding.decode import read_response
from exporter.sources.decoding.wire_servers import WireJsz

sys.setswitchinterval(1e-6)
response = b'''{"account_details": [{"name": "APP", "stream_detail": [{"name": "S", "state": {},
 "cluster": {"leader": "n1", "replicas": [{"name": "n2"}]},
 "consumer_detail": [{"name": "c", "delivered": {"consumer_seq": 7}, "config": {}}]}]}]}'''
together, found = threading.Barrier(6), []

def decode():
    together.wait()
    stream = read_response(WireJsz, response, "jsz").account_details[0].stream_detail[0]
    found.append(stream.consumer_detail[0].delivered.consumer_seq)

threads = [threading.Thread(target=decode) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(found)
"""


def test_the_first_responses_of_several_servers_are_decoded_concurrently() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, f"{[7] * 6}\n"), ended.stderr
