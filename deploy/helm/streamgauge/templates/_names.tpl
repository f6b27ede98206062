{{- define "streamgauge.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "streamgauge.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "streamgauge.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "streamgauge.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "streamgauge.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "streamgauge.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Takes a dict of root and component. */}}
{{- define "streamgauge.selector" -}}
app.kubernetes.io/name: {{ include "streamgauge.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "streamgauge.labels" -}}
{{ include "streamgauge.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: streamgauge
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* Takes a dict of root and image. */}}
{{- define "streamgauge.image" -}}
{{- $name := join "/" (compact (list (trimSuffix "/" .root.Values.images.registry) .image.repository)) -}}
{{- if .image.digest -}}
{{ $name }}@{{ .image.digest }}
{{- else -}}
{{ $name }}:{{ default .root.Chart.AppVersion .image.tag }}
{{- end }}
{{- end }}
