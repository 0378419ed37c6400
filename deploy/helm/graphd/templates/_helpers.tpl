{{- define "graphd.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "graphd.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "graphd.labels" -}}
{{ include "graphd.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "graphd.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "graphd.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "graphd.name" .) }}
{{- end }}

{{- define "graphd.scheme" -}}
{{ if .Values.tls.secretName }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}

{{- /* The daemon's configuration: what follows from the other values, under what .Values.config says. */}}
{{- define "graphd.config" -}}
{{- $name := include "graphd.name" . }}
{{- $ns := .Release.Namespace }}
{{- $hosts := list $name (printf "%s.%s" $name $ns) (printf "%s.%s.svc" $name $ns) (printf "%s.%s.svc.%s" $name $ns .Values.clusterDomain) }}
{{- $hosts = concat $hosts .Values.hosts }}
{{- if and .Values.ingress.enabled .Values.ingress.host }}{{ $hosts = append $hosts .Values.ingress.host }}{{ end }}
{{- $c := dict "listen" "0.0.0.0:8080" "data" "/data" "auth" .Values.auth "hosts" ($hosts | uniq) "log_format" "json" "shutdown_timeout" (printf "%ds" (int .Values.shutdownSeconds)) }}
{{- if .Values.insecure }}{{ $_ := set $c "insecure" true }}{{ end }}
{{- if eq .Values.store.kind "postgres" }}{{ $_ := set $c "store" (required "store.postgres.address is needed" .Values.store.postgres.address) }}{{ end }}
{{- if or .Values.declarations .Values.existingConfigMap }}{{ $_ := set $c "graphs" "/graphs" }}{{ end }}
{{- if .Values.declarationSecrets }}{{ $_ := set $c "secrets_dir" "/run/secrets/graphd/declarations" }}{{ end }}
{{- if .Values.tls.secretName }}{{ $_ := set $c "tls_cert" "/run/secrets/graphd/tls/tls.crt" }}{{ $_ := set $c "tls_key" "/run/secrets/graphd/tls/tls.key" }}{{ end }}
{{- if .Values.connections }}
{{- $all := dict }}
{{- range $k, $v := .Values.connections }}{{ $_ := set $all $k (printf "file:/run/secrets/graphd/connections/%s/address" $k) }}{{ end }}
{{- $_ := set $c "connections" $all }}
{{- end }}
{{- toYaml (merge (deepCopy .Values.config) $c) }}
{{- end }}

{{- define "graphd.volumeMounts" -}}
- { name: config, mountPath: /etc/graphd, readOnly: true }
- { name: data, mountPath: /data }
- { name: tmp, mountPath: /tmp }
{{- if or .Values.declarations .Values.existingConfigMap }}
- { name: declarations, mountPath: /graphs, readOnly: true } # the folder: a subPath would never change
{{- end }}
{{- if .Values.declarationSecrets }}
- { name: declaration-secrets, mountPath: /run/secrets/graphd/declarations, readOnly: true }
{{- end }}
{{- if .Values.tls.secretName }}
- { name: tls, mountPath: /run/secrets/graphd/tls, readOnly: true }
{{- end }}
{{- if and (eq .Values.store.kind "postgres") .Values.store.postgres.secretName }}
- { name: store, mountPath: /run/secrets/graphd/store, readOnly: true }
{{- end }}
{{- range $name, $secret := .Values.connections }}
- { name: {{ printf "connection-%s" ($name | replace "_" "-") }}, mountPath: /run/secrets/graphd/connections/{{ $name }}, readOnly: true }
{{- end }}
{{- range .Values.extraSecrets }}
- { name: {{ printf "extra-%s" . }}, mountPath: /run/secrets/graphd/extra/{{ . }}, readOnly: true }
{{- end }}
{{- end }}

{{- define "graphd.volumes" -}}
- name: config
  configMap: { name: {{ include "graphd.name" . }} }
- name: tmp
  emptyDir: { sizeLimit: 256Mi }
{{- if eq .Values.store.kind "postgres" }}
- name: data
  emptyDir: {}
{{- end }}
{{- if or .Values.declarations .Values.existingConfigMap }}
- name: declarations
  configMap: { name: {{ .Values.existingConfigMap | default (printf "%s-declarations" (include "graphd.name" .)) }} }
{{- end }}
{{- if .Values.declarationSecrets }}
- name: declaration-secrets
  secret: { secretName: {{ .Values.declarationSecrets }}, defaultMode: 0440 }
{{- end }}
{{- if .Values.tls.secretName }}
- name: tls
  secret: { secretName: {{ .Values.tls.secretName }}, defaultMode: 0440 }
{{- end }}
{{- if and (eq .Values.store.kind "postgres") .Values.store.postgres.secretName }}
- name: store
  secret: { secretName: {{ .Values.store.postgres.secretName }}, defaultMode: 0440 }
{{- end }}
{{- range $name, $secret := .Values.connections }}
- name: {{ printf "connection-%s" ($name | replace "_" "-") }}
  secret: { secretName: {{ $secret }}, defaultMode: 0440 }
{{- end }}
{{- range .Values.extraSecrets }}
- name: {{ printf "extra-%s" . }}
  secret: { secretName: {{ . }}, defaultMode: 0440 }
{{- end }}
{{- end }}

{{- define "graphd.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "graphd.pod" -}}
metadata:
  labels:
    {{- include "graphd.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations:
    # The daemon reads its configuration once: a change of it is a new pod. Declarations are not in it.
    graphd/config: {{ include "graphd.config" . | sha256sum }}
    {{- with .Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  serviceAccountName: {{ include "graphd.serviceAccount" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ add (int .Values.shutdownSeconds) (int .Values.preStopSeconds) 5 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- if and (eq .Values.store.kind "sqlite") (eq .Values.auth "required") .Values.bootstrap }}
  initContainers:
    - name: first-token
      image: {{ include "graphd.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [token, bootstrap, --once, --data, /data, --out, /data/admin.token]
      securityContext: {{- include "graphd.containerSecurity" . | nindent 8 }}
      resources: {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
  {{- end }}
  containers:
    - name: graphd
      image: {{ include "graphd.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve, --config, /etc/graphd/graphd.yaml]
      {{- $pgpass := and (eq .Values.store.kind "postgres") .Values.store.postgres.secretName }}
      {{- $shared := eq .Values.store.kind "postgres" }}
      {{- if or $shared .Values.env }}
      env:
        {{- if $shared }}
        # What the other members call this one: docs/members.md.
        - { name: POD_IP, valueFrom: { fieldRef: { fieldPath: status.podIP } } }
        - { name: GRAPHD_ADVERTISE, value: "$(POD_IP):8080" }
        {{- end }}
        {{- if $pgpass }}
        - { name: PGPASSFILE, value: /run/secrets/graphd/store/pgpass }
        {{- end }}
        {{- with .Values.env }}{{ toYaml . | nindent 8 }}{{ end }}
      {{- end }}
      ports:
        - { name: http, containerPort: 8080 }
      # Until it answers: a store that is brought to a new schema takes its time.
      startupProbe:
        httpGet: { path: /livez, port: http, scheme: {{ include "graphd.scheme" . }} }
        periodSeconds: 2
        failureThreshold: 150
      livenessProbe:
        httpGet: { path: /livez, port: http, scheme: {{ include "graphd.scheme" . }} }
        periodSeconds: 10
        timeoutSeconds: 3
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: http, scheme: {{ include "graphd.scheme" . }} }
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 2
      {{- if and (gt (int .Values.preStopSeconds) 0) (semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version) }}
      lifecycle:
        preStop:
          sleep: { seconds: {{ .Values.preStopSeconds }} }
      {{- end }}
      securityContext: {{- include "graphd.containerSecurity" . | nindent 8 }}
      resources: {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts: {{- include "graphd.volumeMounts" . | nindent 8 }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  topologySpreadConstraints:
    {{- if .Values.topologySpreadConstraints }}{{ toYaml .Values.topologySpreadConstraints | nindent 4 }}{{ else }}
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "graphd.selector" . | nindent 10 }}
    {{- end }}
  volumes: {{- include "graphd.volumes" . | nindent 4 }}
{{- end }}
