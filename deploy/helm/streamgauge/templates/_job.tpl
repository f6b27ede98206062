{{/* Pods share a ReadWriteOnce volume only on its node. */}}
{{- define "streamgauge.nearArchive" -}}
{{- $part := .Values.rollups }}
{{- if $part.affinity }}
affinity: {{- toYaml $part.affinity | nindent 2 }}
{{- else if not (and $part.archive $part.out) }}
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{- include "streamgauge.selector" (dict "root" . "component" "archive") | nindent 12 }}
{{- end }}
{{- end }}

{{/* A CronJob of the rollups' image. Takes a dict of root, component, schedule and command. */}}
{{- define "streamgauge.job" }}
{{- $root := .root }}
{{- $part := $root.Values.rollups }}
{{- $name := include "streamgauge.fullname" $root }}
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {{ $name }}-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "streamgauge.labels" . | nindent 4 }}
spec:
  schedule: {{ .schedule | quote }}
  timeZone: Etc/UTC
  # A parallel run would repeat the work; after a failed night the next run catches up.
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 3600
  successfulJobsHistoryLimit: 1
  failedJobsHistoryLimit: 3
  jobTemplate:
    spec:
      backoffLimit: 1
      activeDeadlineSeconds: {{ $part.activeDeadlineSeconds }}
      template:
        metadata:
          labels:
            {{- include "streamgauge.selector" . | nindent 12 }}
            {{- with $part.podLabels }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- with $part.podAnnotations }}
          annotations: {{- toYaml . | nindent 12 }}
          {{- end }}
        spec:
          {{- include "streamgauge.pod" (dict "root" $root "part" $part "token" (hasPrefix "k8s://" $part.spark.master)) | nindent 10 }}
          restartPolicy: Never
          {{- include "streamgauge.nearArchive" $root | trim | nindent 10 }}
          containers:
            - name: {{ .component }}
              image: {{ include "streamgauge.image" (dict "root" $root "image" $root.Values.images.rollups) | quote }}
              imagePullPolicy: {{ $root.Values.images.rollups.pullPolicy }}
              command: {{- toYaml .command | nindent 16 }}
              {{- with $part.env }}
              env: {{- toYaml . | nindent 16 }}
              {{- end }}
              {{- include "streamgauge.container" $root | nindent 14 }}
              resources: {{- toYaml $part.resources | nindent 16 }}
              volumeMounts:
                - {name: tmp, mountPath: /tmp}
                {{- if and (not $part.archive) (eq .component "rollups") }}
                - {name: archive, mountPath: /var/lib/streamgauge, readOnly: true}
                {{- end }}
                {{- if not $part.out }}
                - {name: out, mountPath: /var/lib/streamgauge-rollups}
                {{- end }}
                {{- if and (eq .component "report") $part.report.settings }}
                - {name: settings, mountPath: /etc/streamgauge/report, readOnly: true}
                {{- end }}
                {{- if $part.secrets }}
                - {name: secrets, mountPath: /etc/streamgauge/secrets, readOnly: true}
                {{- end }}
          volumes:
            - name: tmp
              emptyDir: {}
            {{- if and (not $part.archive) (eq .component "rollups") }}
            - name: archive
              persistentVolumeClaim: {claimName: data-{{ $name }}-archive-0, readOnly: true}
            {{- end }}
            {{- if not $part.out }}
            - name: out
              persistentVolumeClaim: {claimName: {{ $name }}-rollups}
            {{- end }}
            {{- if and (eq .component "report") $part.report.settings }}
            - name: settings
              configMap: {name: {{ $name }}-report}
            {{- end }}
            {{- with $part.secrets }}
            - name: secrets
              projected:
                defaultMode: 0440
                sources: {{- include "streamgauge.secretSources" . | trim | nindent 18 }}
            {{- end }}
{{- end }}
