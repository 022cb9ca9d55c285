{{- define "dnsadmin.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "dnsadmin.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "dnsadmin.labels" -}}
{{ include "dnsadmin.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "dnsadmin.secret" -}}
{{ required "Set existingSecret to the name of a secret with DATABASE_URL, REDIS_URL and the three keys of dnsadmin (docs/operations.md)." .Values.existingSecret }}
{{- end -}}

{{/* The pod of one role. Takes root, role, resources, and what the role has of its own: environment, ports (the first has the probes), scheme, readiness, volumes, mounts. */}}
{{- define "dnsadmin.pod" -}}
{{- $root := .root -}}
metadata:
  labels:
    {{- include "dnsadmin.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
  {{- with $root.Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "dnsadmin.name" $root }}
  automountServiceAccountToken: false
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile:
      type: RuntimeDefault
  {{- if eq .role "migrate" }}
  restartPolicy: Never
  {{- end }}
  terminationGracePeriodSeconds: {{ .stopSeconds | default 30 }}
  containers:
    - name: {{ .role }}
      image: {{ printf "%s:%s" $root.Values.image.repository ($root.Values.image.tag | default $root.Chart.AppVersion) | quote }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: [{{ .role }}]
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      envFrom:
        - secretRef:
            name: {{ include "dnsadmin.secret" $root }}
      env:
        {{- range $name, $value := $root.Values.settings }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
        {{- if $root.Values.credentialsSecret }}
        - name: DNSADMIN_CREDENTIALS_DIR
          value: /run/secrets/providers
        {{- end }}
        {{- range $name, $value := .environment }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
      {{- with .ports }}
      ports:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if .ports }}
      {{- include "dnsadmin.probes" (dict "port" (first .ports).name "scheme" .scheme "readiness" .readiness) | nindent 6 }}
      {{- end }}
      resources:
        {{- toYaml .resources | nindent 8 }}
      volumeMounts:
        - name: state
          mountPath: /var/lib/dnsadmin
        - name: tmp
          mountPath: /tmp
        {{- if $root.Values.credentialsSecret }}
        - name: credentials
          mountPath: /run/secrets/providers
          readOnly: true
        {{- end }}
        {{- with .mounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: state
      {{- if .claim }}
      persistentVolumeClaim:
        claimName: {{ .claim }}
      {{- else }}
      emptyDir: {}
      {{- end }}
    - name: tmp
      emptyDir: {}
    {{- if $root.Values.credentialsSecret }}
    - name: credentials
      secret:
        secretName: {{ $root.Values.credentialsSecret }}
    {{- end }}
    {{- with .volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $root.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* The deployment of one role. Takes what the pod takes, and replicas or strategy. */}}
{{- define "dnsadmin.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "dnsadmin.name" .root }}-{{ .role }}
  labels:
    {{- include "dnsadmin.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  replicas: {{ .replicas | default 1 }}
  {{- with .strategy }}
  strategy:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "dnsadmin.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
  template:
    {{- include "dnsadmin.pod" . | nindent 4 }}
{{- end -}}

{{/* Probes at a named port; scheme is HTTP or HTTPS. A role whose database is away is alive, and not ready. */}}
{{- define "dnsadmin.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: {{ .port }}, scheme: {{ .scheme | default "HTTP" }}}
  failureThreshold: 30
  periodSeconds: 2
livenessProbe:
  httpGet: {path: /healthz, port: {{ .port }}, scheme: {{ .scheme | default "HTTP" }}}
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: {path: {{ .readiness | default "/readyz" }}, port: {{ .port }}, scheme: {{ .scheme | default "HTTP" }}}
  periodSeconds: 10
  timeoutSeconds: 6
{{- end -}}
