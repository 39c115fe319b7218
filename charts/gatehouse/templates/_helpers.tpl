{{/* Prefix of object names: the release name, with the chart name if the release name does not contain it. Leaves room for suffixes. */}}
{{- define "gatehouse.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- default $full .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/*
What runs as a Deployment, as YAML: the services of topology.yaml or, with `composed`, one process that runs all of them,
whose member `composed` lists their names.
*/}}
{{- define "gatehouse.topology" -}}
{{- $services := .Files.Get "topology.yaml" | fromYaml -}}
{{- if .Values.composed -}}
{{- $all := dict "composed" (keys $services | sortAlpha) -}}
{{- range $name, $facts := $services -}}
{{- $all = merge $all (omit $facts "calls" "grpc") -}}
{{- end -}}
{{- toYaml (dict "composed" (merge $all (dict "calls" dict))) -}}
{{- else -}}
{{- toYaml $services -}}
{{- end -}}
{{- end }}

{{/* Name of the Service that clients reach, also with `composed`: its address stays when that changes. */}}
{{- define "gatehouse.frontDoor" -}}
{{ include "gatehouse.fullname" . }}-edge
{{- end }}

{{/* The definition of a service (gatehouse.topology) merged with its values and the default values, as YAML. Takes root, name. */}}
{{- define "gatehouse.service" -}}
{{- $topology := include "gatehouse.topology" .root | fromYaml -}}
{{- $own := index .root.Values.services .name | default dict -}}
{{- $service := mustMergeOverwrite (deepCopy .root.Values.defaults) $own (index $topology .name) -}}
{{- range $list := list "extraEnv" "extraEnvFrom" -}}
{{- $_ := set $service $list (concat (index $.root.Values.defaults $list) (index $own $list | default list)) -}}
{{- end -}}
{{- toYaml $service -}}
{{- end }}

{{/* A map without null members: Helm removes a null only if the chart has a default for it, and `services.<name>` mostly has none. */}}
{{- define "gatehouse.withoutNulls" -}}
{{- $kept := dict -}}
{{- range $key, $value := . -}}
{{- if not (kindIs "invalid" $value) }}{{ $_ := set $kept $key $value }}{{ end -}}
{{- end -}}
{{- toYaml $kept -}}
{{- end }}

{{/* Labels that never change, for selectors. Takes root, component. */}}
{{- define "gatehouse.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Labels of every object. Takes root, component. */}}
{{- define "gatehouse.labels" -}}
{{ include "gatehouse.selector" . }}
app.kubernetes.io/part-of: gatehouse
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The full name of an image. Takes root, name (of the service or setup), imageName (if it is another), image (its own settings). */}}
{{- define "gatehouse.image" -}}
{{- $shared := .root.Values.image -}}
{{- $repository := default (printf "%s/%s" $shared.repository (default .name .imageName)) .image.repository -}}
{{- with $shared.registry }}{{ . }}/{{ end -}}
{{- $repository -}}
{{- if .image.digest -}}
@{{ .image.digest }}
{{- else -}}
:{{ coalesce .image.tag $shared.tag .root.Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Fields that all containers share. Takes root, name, image. */}}
{{- define "gatehouse.container" -}}
image: {{ include "gatehouse.image" . }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  {{- toYaml .root.Values.containerSecurityContext | nindent 2 }}
{{- end }}

{{/* Fields that all pods share. Takes root, settings (for scheduling). */}}
{{- define "gatehouse.pod" -}}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
# Variables of other Services in the namespace could be taken for settings.
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .settings.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Name of the Secret with signing keys, key ring and database URLs. */}}
{{- define "gatehouse.secretName" -}}
{{- coalesce .Values.secrets.existing .Values.secrets.name (printf "%s-secrets" (include "gatehouse.fullname" .)) -}}
{{- end }}

{{/* Name of the ConfigMap that the chart creates for the model catalogue. */}}
{{- define "gatehouse.catalogue" -}}
{{- with .Values.models.catalogue }}{{ toYaml . }}{{ else }}{{ .Files.Get "models.yaml" | trim }}{{ end -}}
{{- end }}

{{/* Name of the ConfigMap with the OpenID Connect issuers; empty without issuers. */}}
{{- define "gatehouse.issuersConfigMap" -}}
{{- if .Values.login.existingConfigMap -}}
{{ .Values.login.existingConfigMap }}
{{- else if .Values.login.issuers -}}
{{ include "gatehouse.fullname" . }}-issuers
{{- end -}}
{{- end }}

{{/* DNS name of the headless Service of a service. Takes root, name. */}}
{{- define "gatehouse.host" -}}
{{ include "gatehouse.fullname" .root }}-{{ .name }}-headless.{{ .root.Release.Namespace }}.svc
{{- end }}

{{/* An egress rule to peers (empty: any address) on TCP ports (empty: all). Takes to, ports. */}}
{{- define "gatehouse.egressRule" -}}
{{- $rule := dict -}}
{{- with .to }}{{ $_ := set $rule "to" . }}{{ end -}}
{{- range .ports -}}
{{- $_ := set $rule "ports" (append (default list $rule.ports) (dict "protocol" "TCP" "port" (int .))) -}}
{{- end -}}
{{- toYaml (list $rule) -}}
{{- end }}

{{/* Whether services use TLS between them: `true`, or empty. Services of one process have no connections. */}}
{{- define "gatehouse.internalTls" -}}
{{- if and .Values.internalTls.enabled (not .Values.composed) }}true{{ end -}}
{{- end }}

{{/* Name of the Secret with the certificate that a service shows to others. Takes root, name. */}}
{{- define "gatehouse.internalTlsSecret" -}}
{{- if .root.Values.internalTls.existingSecrets -}}
{{ required (printf "internalTls.existingSecrets.%s is required: the name of the Secret with the certificate of %s" .name .name) (index .root.Values.internalTls.existingSecrets .name) }}
{{- else -}}
{{ include "gatehouse.fullname" .root }}-{{ .name }}-internal-tls
{{- end -}}
{{- end }}
