{{- define "wick.name" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "wick.account" -}}
{{- .Values.serviceAccount.name | default (include "wick.name" .) -}}
{{- end -}}

{{- define "wick.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion | toString) -}}
{{- end -}}

{{/* (list . COMPONENT): what selects its pods. */}}
{{- define "wick.selector" -}}
{{- $top := index . 0 -}}
app.kubernetes.io/name: wick
app.kubernetes.io/instance: {{ $top.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* (list . COMPONENT): what is told of its objects. */}}
{{- define "wick.labels" -}}
{{- $top := index . 0 -}}
{{ include "wick.selector" . }}
app.kubernetes.io/version: {{ $top.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $top.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $top.Chart.Name $top.Chart.Version }}
{{- end -}}

{{/* The configuration of the mode, and what values.yaml puts over it. Agents are told where the gateway is. */}}
{{- define "wick.config" -}}
{{- $file := eq .Values.mode "gateway" | ternary "files/gateway-agent.yaml" (printf "files/%s.yaml" .Values.mode) -}}
{{- $config := .Files.Get $file | fromYaml -}}
{{- if eq .Values.mode "gateway" -}}
{{- $_ := set $config.exporters.otlp_grpc "endpoint" (printf "%s-gateway:4317" (include "wick.name" .)) -}}
{{- end -}}
{{- mergeOverwrite $config (deepCopy .Values.config) | toYaml -}}
{{- end -}}

{{- define "wick.gatewayConfig" -}}
{{- mergeOverwrite (.Files.Get "files/gateway.yaml" | fromYaml) (deepCopy .Values.gateway.config) | toYaml -}}
{{- end -}}
