{{/* The name of a pod names its replica, in at most 32 characters. */}}
{{- define "indus.name" -}}
{{- if gt (len .Release.Name) 28 }}{{ fail "the name of the release has more than 28 characters: pods, and so replicas, are named after it" }}{{ end -}}
{{- .Release.Name -}}
{{- end }}

{{- define "indus.selector" -}}
app.kubernetes.io/name: indus
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "indus.labels" -}}
{{ include "indus.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
