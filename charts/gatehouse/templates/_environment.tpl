{{/* An environment variable from a key of a Secret. Takes name, secret, key. */}}
{{- define "gatehouse.fromSecret" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef: { name: {{ .secret }}, key: {{ .key }} }
{{- end }}

{{/* Variables for the database login and Kafka, for the pods of a service and for its migration. Takes root, name, service. */}}
{{- define "gatehouse.storageEnvironment" -}}
{{- if .service.composed }}
{{- range $name, $facts := .root.Files.Get "topology.yaml" | fromYaml }}
{{- if $facts.database }}
{{- $key := printf "DATABASE_URL_%s" (upper $name) }}
{{ include "gatehouse.fromSecret" (dict "name" $key "secret" (include "gatehouse.secretName" $.root) "key" $key) }}
{{- end }}
{{- end }}
{{- else if .service.database }}
{{ include "gatehouse.fromSecret" (dict "name" "DATABASE_URL" "secret" (include "gatehouse.secretName" .root) "key" (printf "DATABASE_URL_%s" (upper .name))) }}
{{- end }}
{{- if and .service.kafka .root.Values.kafka.brokers }}
- name: KAFKA_BROKERS
  value: {{ join "," .root.Values.kafka.brokers | quote }}
- name: KAFKA_PREFIX
  value: {{ .root.Values.kafka.prefix | quote }}
{{- end }}
{{- end }}

{{/* The settings of a service (see its src/config.ts). Takes root, name, service. */}}
{{- define "gatehouse.environment" -}}
{{- $secret := include "gatehouse.secretName" .root -}}
- name: HTTP_PORT
  value: '8080'
- name: ADMIN_PORT
  value: '9090'
{{- if .service.grpc }}
- name: GRPC_PORT
  value: '9000'
{{- end }}
- name: LOG_LEVEL
  value: {{ .root.Values.logLevel }}
- name: DRAIN_DELAY_MS
  value: {{ mul .service.drainDelaySeconds 1000 | quote }}
- name: DRAIN_TIMEOUT_MS
  value: {{ mul .service.drainSeconds 1000 | quote }}
- name: BODY_BYTES_PER_TENANT
  value: {{ int64 .root.Values.requestBodies.bytesPerTenant | quote }}
- name: BODY_BYTES_PER_PROCESS
  value: {{ int64 .root.Values.requestBodies.bytesPerProcess | quote }}
- name: UNREAD_TIMEOUT_MS
  value: {{ mul .root.Values.unreadSeconds 1000 | quote }}
{{- range .service.composed }}
{{- $key := printf "ASSERTION_PRIVATE_KEY_%s" (upper .) }}
{{ include "gatehouse.fromSecret" (dict "name" $key "secret" $secret "key" $key) }}
{{- else }}
{{ include "gatehouse.fromSecret" (dict "name" "ASSERTION_PRIVATE_KEY" "secret" $secret "key" (printf "ASSERTION_PRIVATE_KEY_%s" (upper .name))) }}
{{- end }}
{{ include "gatehouse.fromSecret" (dict "name" "ASSERTION_PUBLIC_KEYS" "secret" $secret "key" "ASSERTION_PUBLIC_KEYS") }}
{{- if .service.keyRing }}
{{ include "gatehouse.fromSecret" (dict "name" "SECRETS_KEYRING" "secret" $secret "key" "SECRETS_KEYRING") }}
{{- end }}
{{- include "gatehouse.storageEnvironment" . }}
{{- if .service.composed }}
{{- with (index .root.Values.services .name | default dict).databasePool }}
- name: DATABASE_POOL
  value: {{ . | quote }}
{{- end }}
{{- else if .service.database }}
- name: DATABASE_POOL
  value: {{ .service.databasePool | quote }}
{{- end }}
{{- range $callee, $ports := .service.calls }}
{{- range $ports }}
- name: {{ upper $callee }}_{{ upper . }}
  value: dns:///{{ include "gatehouse.host" (dict "root" $.root "name" $callee) }}:{{ eq . "grpc" | ternary 9000 8080 }}
{{- end }}
{{- end }}
{{- if .service.models }}
- name: GATEHOUSE_MODELS
  value: /etc/gatehouse/models.yaml
{{- end }}
{{- $issuers := and .service.issuers (include "gatehouse.issuersConfigMap" .root) }}
{{- if $issuers }}
- name: OIDC_ISSUERS
  value: /etc/gatehouse/login/issuers.yaml
{{- end }}
{{- if and (or .service.egress .service.models $issuers) .root.Values.egress.allow }}
- name: EGRESS_ALLOW
  value: {{ join "," .root.Values.egress.allow | quote }}
{{- end }}
{{- if and (or .service.composed (eq .name "webhook")) .root.Values.webhooks.allowToken }}
- name: WEBHOOK_ALLOW_TOKEN
  value: '1'
{{- end }}
{{- if and (or .service.composed (has .name (list "agent" "edge" "tenant" "webhook"))) .root.Values.publicUrl }}
- name: PUBLIC_URL
  value: {{ .root.Values.publicUrl | quote }}
{{- end }}
{{- if and (or .service.composed (eq .name "tenant")) .root.Values.cliKeyTtl }}
- name: CLI_KEY_TTL
  value: {{ .root.Values.cliKeyTtl | quote }}
{{- end }}
{{- if and (or .service.composed (eq .name "tenant")) .root.Values.auditRetentionDays }}
- name: AUDIT_RETENTION_DAYS
  value: {{ .root.Values.auditRetentionDays | int | quote }}
{{- end }}
{{- if and .service.public .root.Values.tls.secretName }}
- name: TLS_CERT
  value: /etc/gatehouse-tls/edge/tls.crt
- name: TLS_KEY
  value: /etc/gatehouse-tls/edge/tls.key
{{- end }}
{{- if include "gatehouse.internalTls" .root }}
- name: INTERNAL_TLS_CA
  value: /etc/gatehouse-tls/internal/ca.crt
- name: INTERNAL_TLS_CERT
  value: /etc/gatehouse-tls/internal/tls.crt
- name: INTERNAL_TLS_KEY
  value: /etc/gatehouse-tls/internal/tls.key
{{- end }}
{{- if and .service.public .root.Values.trustedProxies }}
- name: TRUSTED_PROXIES
  value: {{ join "," .root.Values.trustedProxies | quote }}
{{- end }}
{{- if and .service.public .root.Values.corsOrigins }}
- name: CORS_ORIGINS
  value: {{ join "," .root.Values.corsOrigins | quote }}
{{- end }}
{{- with .root.Values.otel.endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ . | quote }}
{{- end }}
{{- with .service.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Variables from whole Secrets and ConfigMaps. Takes root, service. */}}
{{- define "gatehouse.environmentFrom" -}}
{{- if and .service.models .root.Values.providers.existingSecret }}
- secretRef: { name: {{ .root.Values.providers.existingSecret }} }
{{- end }}
{{- if and .service.issuers .root.Values.login.existingSecret }}
- secretRef: { name: {{ .root.Values.login.existingSecret }} }
{{- end }}
{{- with .service.extraEnvFrom }}
{{ toYaml . }}
{{- end }}
{{- end }}
