{{/* What all pods share. Takes a dict of root and part (its values). */}}
{{- define "streamgauge.pod" -}}
serviceAccountName: {{ include "streamgauge.serviceAccount" .root }}
automountServiceAccountToken: {{ default false .token }}
# Kubernetes would set variables such as STREAMGAUGE_EXPORTER_PORT, which are no settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .part.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "streamgauge.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* The prefix of all routes: the path of the external URL. Takes the section web of a configuration. */}}
{{- define "streamgauge.routePrefix" -}}
{{- with .external_url }}{{ trimSuffix "/" (urlParse .).path }}{{ end }}
{{- end }}

{{/* Takes the section web of a configuration. With authentication or TLS the probes have a port of their own. */}}
{{- define "streamgauge.probes" -}}
{{- $port := ternary "health" "http" (hasKey . "health_address") }}
{{- $prefix := include "streamgauge.routePrefix" . -}}
startupProbe:
  httpGet: {path: {{ $prefix }}/-/healthy, port: {{ $port }}}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: {{ $prefix }}/-/healthy, port: {{ $port }}}
  periodSeconds: 15
  timeoutSeconds: 5
  failureThreshold: 4
readinessProbe:
  httpGet: {path: {{ $prefix }}/-/ready, port: {{ $port }}}
  periodSeconds: 10
  timeoutSeconds: 5
{{- end }}

{{/* The files of existing Secrets. Takes a list of {file, secretName, key}. */}}
{{- define "streamgauge.secretSources" -}}
{{- range . }}
- secret:
    name: {{ .secretName }}
    items:
      - {key: {{ .key | quote }}, path: {{ .file | quote }}}
{{- end }}
{{- end }}
