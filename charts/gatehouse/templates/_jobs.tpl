{{/*
Annotations of all Jobs of the chart. They are hooks: Helm deletes a Job that succeeded. A failed Job stays for its logs
until the next attempt or ttlSecondsAfterFinished, so that nothing remains after an uninstall.
*/}}
{{- define "gatehouse.hookAnnotations" -}}
helm.sh/hook: {{ .hook }}
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{/* A Job without its containers. Takes root, component, hook, weight, token (whether it calls the Kubernetes API). */}}
{{- define "gatehouse.job" -}}
{{- $name := printf "%s-%s" (include "gatehouse.fullname" .root) .component -}}
{{- $jobs := .root.Values.jobs -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $name }}
  labels:
    {{- include "gatehouse.labels" . | nindent 4 }}
  annotations:
    {{- include "gatehouse.hookAnnotations" . | nindent 4 }}
spec:
  backoffLimit: {{ int $jobs.backoffLimit }}
  activeDeadlineSeconds: {{ int $jobs.activeDeadlineSeconds }}
  ttlSecondsAfterFinished: {{ int $jobs.ttlSecondsAfterFinished }}
  template:
    metadata:
      labels:
        {{- include "gatehouse.selector" . | nindent 8 }}
        {{- with $jobs.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $jobs.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      restartPolicy: Never
      {{- if .serviceAccount }}
      serviceAccountName: {{ .serviceAccount }}
      {{- end }}
      automountServiceAccountToken: {{ empty .serviceAccount | not }}
      {{- include "gatehouse.pod" (dict "root" .root "settings" .root.Values.defaults) | nindent 6 }}
{{- end }}

{{/* A container that runs one command. Takes root, name, image, container, args. */}}
{{- define "gatehouse.jobContainer" -}}
- name: {{ .container }}
  {{- include "gatehouse.container" . | nindent 2 }}
  args: {{ toJson .args }}
  resources:
    {{- toYaml .root.Values.jobs.resources | nindent 4 }}
{{- end }}

{{/* MIGRATION_DATABASE_URL, with the owner of a database. Takes existingSecret, key. */}}
{{- define "gatehouse.ownerUrl" -}}
{{- $secret := required "database.existingSecret is required: the name of the Secret with the database URL of the owner" .existingSecret -}}
{{- include "gatehouse.fromSecret" (dict "name" "MIGRATION_DATABASE_URL" "secret" $secret "key" .key) -}}
{{- end }}
