// Package chart_test renders the chart with each of its examples as Helm does, and holds what comes out against
// the types of Kubernetes' own API: a field that is not there, or of another type, is an error. The daemon's
// configuration and its declarations are given to the binary, which says what is wrong with them.
//
// It is a module of its own, so that what it needs is no part of graphd.
package chart_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const chartDir = "../graphd"

// serviceMonitor is the part of the type of the Prometheus operator that the chart writes: its own module brings
// half of Kubernetes with it.
type serviceMonitor struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		Selector  map[string]any `json:"selector"`
		Endpoints []struct {
			Port          string `json:"port"`
			Path          string `json:"path"`
			Interval      string `json:"interval"`
			Scheme        string `json:"scheme"`
			Authorization *struct {
				Credentials corev1.SecretKeySelector `json:"credentials"`
			} `json:"authorization"`
			TLSConfig *struct {
				ServerName string `json:"serverName"`
				CA         *struct {
					Secret corev1.SecretKeySelector `json:"secret"`
				} `json:"ca"`
			} `json:"tlsConfig"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// typed is an empty object for each kind that the chart may write.
func typed(kind string) any {
	switch kind {
	case "apps/v1 StatefulSet":
		return &appsv1.StatefulSet{}
	case "apps/v1 Deployment":
		return &appsv1.Deployment{}
	case "v1 Service":
		return &corev1.Service{}
	case "v1 ServiceAccount":
		return &corev1.ServiceAccount{}
	case "v1 ConfigMap":
		return &corev1.ConfigMap{}
	case "policy/v1 PodDisruptionBudget":
		return &policyv1.PodDisruptionBudget{}
	case "autoscaling/v2 HorizontalPodAutoscaler":
		return &autoscalingv2.HorizontalPodAutoscaler{}
	case "networking.k8s.io/v1 NetworkPolicy":
		return &networkingv1.NetworkPolicy{}
	case "networking.k8s.io/v1 Ingress":
		return &networkingv1.Ingress{}
	case "monitoring.coreos.com/v1 ServiceMonitor":
		return &serviceMonitor{}
	}
	return nil
}

// render is the chart with a file of values and some more, as the documents that Helm would send.
func render(file string, more map[string]any) (objects map[string]any, notes string, err error) {
	chart, err := loader.Load(chartDir)
	if err != nil {
		return nil, "", err
	}
	values := chartutil.Values{}
	if file != "" {
		if values, err = chartutil.ReadValuesFile(file); err != nil {
			return nil, "", err
		}
	}
	values = chartutil.CoalesceTables(more, values)
	options := chartutil.ReleaseOptions{Name: "quotes", Namespace: "streams", Revision: 1, IsInstall: true}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = chartutil.KubeVersion{Version: "v1.33.0", Major: "1", Minor: "33"}
	all, err := chartutil.ToRenderValues(chart, values, options, capabilities)
	if err != nil {
		return nil, "", err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return nil, "", err
	}
	objects = map[string]any{}
	for name, text := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			notes = text
			continue
		}
		if err := decode(name, text, objects); err != nil {
			return nil, "", err
		}
	}
	return objects, notes, nil
}

// decode reads the documents of one file into their types, strictly.
func decode(name, text string, objects map[string]any) error {
	documents := yamlreader.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal(document, &head); err != nil {
			return errors.Join(errors.New(name), err)
		}
		if head.Kind == "" {
			continue // nothing but comments
		}
		object := typed(head.APIVersion + " " + head.Kind)
		if object == nil {
			return errors.New(name + ": no type is known for " + head.APIVersion + " " + head.Kind)
		}
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			return errors.Join(errors.New(name+": "+head.Kind), err)
		}
		key := head.Kind + " " + head.Metadata.Name
		if objects[key] != nil {
			return errors.New(name + ": " + key + " is there twice")
		}
		objects[key] = object
	}
}

func podOf(t *testing.T, objects map[string]any) corev1.PodTemplateSpec {
	t.Helper()
	switch o := cmpOr(objects["StatefulSet quotes-graphd"], objects["Deployment quotes-graphd"]).(type) {
	case *appsv1.StatefulSet:
		return o.Spec.Template
	case *appsv1.Deployment:
		return o.Spec.Template
	}
	t.Fatal("the chart has no workload")
	return corev1.PodTemplateSpec{}
}

func cmpOr(a, b any) any {
	if a != nil {
		return a
	}
	return b
}

// TestExamples renders each example, checks every document, and has the binary read what is for it.
func TestExamples(t *testing.T) {
	graphd := filepath.Join(t.TempDir(), "graphd")
	build := exec.Command("go", "build", "-o", graphd, "./cmd/graphd")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the binary: %v\n%s", err, out)
	}
	for example, more := range map[string]string{ // beside what each has
		"": "StatefulSet", "sqlite": "ConfigMap StatefulSet", "postgres": "Deployment Ingress",
		"kafka":       "ConfigMap Deployment HorizontalPodAutoscaler ServiceMonitor",
		"locked-down": "Deployment NetworkPolicy ServiceMonitor",
	} {
		want := append(strings.Fields(more), "ConfigMap", "PodDisruptionBudget", "Service", "ServiceAccount")
		slices.Sort(want)
		t.Run("example "+example, func(t *testing.T) {
			file := ""
			if example != "" {
				file = filepath.Join(chartDir, "examples", example+".yaml")
			}
			objects, notes, err := render(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for key := range objects {
				kinds = append(kinds, strings.Fields(key)[0])
			}
			slices.Sort(kinds)
			if !slices.Equal(kinds, want) {
				t.Errorf("it has %v, want %v", kinds, want)
			}
			if !strings.Contains(notes, "token create me") {
				t.Errorf("the notes do not tell of the first token: %s", notes)
			}
			checkPod(t, podOf(t, objects))
			checkFiles(t, graphd, objects)
		})
	}
}

// checkPod holds what every pod has: no rights, no writable root, mounts of volumes that there are, probes, and a
// time to stop in that is longer than the daemon's.
func checkPod(t *testing.T, pod corev1.PodTemplateSpec) {
	t.Helper()
	spec := pod.Spec
	if s := spec.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil ||
		s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Error("the pod may run as root or without seccomp")
	}
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		t.Error("the pod has a token of the cluster's API, which nothing needs")
	}
	volumes := map[string]bool{"data": spec.Volumes == nil}
	for _, v := range spec.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		s := c.SecurityContext
		if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
			s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.Capabilities == nil ||
			!slices.Contains(s.Capabilities.Drop, "ALL") {
			t.Errorf("container %s may write to its root, or has capabilities", c.Name)
		}
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("container %s has no bounds", c.Name)
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] && m.Name != "data" {
				t.Errorf("container %s mounts %s, and there is no such volume", c.Name, m.Name)
			}
			if m.SubPath != "" {
				t.Errorf("container %s mounts a path of %s: it would never change", c.Name, m.Name)
			}
			if !m.ReadOnly && m.Name != "data" && m.Name != "tmp" {
				t.Errorf("container %s may write to %s", c.Name, m.Name)
			}
		}
	}
	c := spec.Containers[0]
	if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.StartupProbe == nil {
		t.Error("a probe is missing")
	}
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil || c.Lifecycle.PreStop.Sleep == nil ||
		*spec.TerminationGracePeriodSeconds <= 30+c.Lifecycle.PreStop.Sleep.Seconds {
		t.Error("the pod is killed before the daemon can stop")
	}
}

// checkFiles has the binary read its configuration and the declarations.
func checkFiles(t *testing.T, graphd string, objects map[string]any) {
	t.Helper()
	dir := t.TempDir()
	for key, object := range objects {
		config, is := object.(*corev1.ConfigMap)
		if !is {
			continue
		}
		for name, text := range config.Data {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			verb := []string{"validate", path}
			if name == "graphd.yaml" {
				verb = []string{"config", "validate", path}
			}
			out, err := exec.Command(graphd, verb...).CombinedOutput()
			// The connections are of the operator's configuration, which validate does not read.
			if err != nil && !bytes.Contains(out, []byte("connection")) {
				t.Errorf("%s: %v\n%s\n%s", key, err, out, text)
			}
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "warning") && !strings.Contains(line, "not on this machine") {
					t.Errorf("%s: %s", key, line)
				}
			}
		}
	}
}

// TestRefused: values that cannot be are refused with what to do, and not sent.
func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		values map[string]any
		want   string
	}{
		{map[string]any{"replicas": 2}, "sqlite is one daemon's"},
		{map[string]any{"store": map[string]any{"kind": "mysql"}}, "write sqlite or postgres"},
		{map[string]any{"store": map[string]any{"kind": "postgres"}}, "store.postgres.address is needed"},
		{map[string]any{"autoscaling": map[string]any{"enabled": true}}, "autoscaling needs"},
		{map[string]any{"declarations": map[string]any{"spread": "graph: spread"}}, "must end in .yaml"},
		{map[string]any{"replica": 1}, "replica"},
		{map[string]any{"tls": map[string]any{"secret": "x"}}, "secret"},
	} {
		if _, _, err := render("", tc.values); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: got %v, want %q", tc.values, err, tc.want)
		}
	}
}

// TestConfigChangesPods: a change of the configuration makes new pods, one of the declarations none.
func TestConfigChangesPods(t *testing.T) {
	of := func(values map[string]any) string {
		t.Helper()
		objects, _, err := render("", values)
		if err != nil {
			t.Fatal(err)
		}
		return podOf(t, objects).Annotations["graphd/config"]
	}
	declared := func(text string) map[string]any {
		return map[string]any{"declarations": map[string]any{"a.yaml": text}}
	}
	if of(declared("graph: a")) != of(declared("graph: b")) {
		t.Error("a changed declaration makes new pods, and the daemon would have read it")
	}
	if of(nil) == of(map[string]any{"config": map[string]any{"log_level": "warn"}}) {
		t.Error("a changed configuration makes no new pods, and the daemon does not read it again")
	}
}
