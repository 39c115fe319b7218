{{/*
What the chart's Jobs have in common. They are hooks: one that succeeded is removed at once, one that failed stays for
its logs until the next try or ttlSecondsAfterFinished, so that nothing outlives an uninstall.
*/}}
{{- define "gatehouse.hookAnnotations" -}}
helm.sh/hook: {{ .hook }}
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{/* A Job without its containers. Takes root, component, hook, weight, token (whether it speaks to Kubernetes). */}}
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
  backoffLimit: {{ $jobs.backoffLimit }}
  activeDeadlineSeconds: {{ $jobs.activeDeadlineSeconds }}
  ttlSecondsAfterFinished: {{ $jobs.ttlSecondsAfterFinished }}
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

{{/* A container that runs one command of an image. Takes root, name, image, container, args. */}}
{{- define "gatehouse.jobContainer" -}}
- name: {{ .container }}
  {{- include "gatehouse.container" . | nindent 2 }}
  args: {{ toJson .args }}
  resources:
    {{- toYaml .root.Values.jobs.resources | nindent 4 }}
{{- end }}

{{/* MIGRATION_DATABASE_URL: the owner of a database. Takes existingSecret, key. */}}
{{- define "gatehouse.ownerUrl" -}}
{{- $secret := required "database.existingSecret: name the Secret that holds the URL of the database's owner" .existingSecret -}}
{{- include "gatehouse.fromSecret" (dict "name" "MIGRATION_DATABASE_URL" "secret" $secret "key" .key) -}}
{{- end }}
