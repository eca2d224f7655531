package deployment_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	gateways "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

const deploy = "../../../deploy"

// everything turns on each optional object.
const everything = `
files: indus-files
state: indus-state
config: {servers: {docs: {url: "https://mcp.example.com/mcp"}}, cluster: {credsFile: /etc/indus/files/nats.creds}}
cluster: nats://a:4222,nats://b:4222
storeKey: indus-store
autoscaling: {enabled: true}
metrics: {enabled: true}
route: {enabled: true, gateway: public, gatewayNamespace: infra, hostnames: [mcp.example.com]}
`

func values(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestLint runs helm lint. A warning fails too.
func TestLint(t *testing.T) {
	for _, text := range []string{"{}", everything} {
		for _, m := range lint.RunAll(filepath.Join(deploy, "chart"), values(t, text), "default").Messages {
			if m.Severity > support.InfoSev {
				t.Error(m)
			}
		}
	}
}

// render returns the objects of the chart. Each is decoded strictly: an unknown field or a wrong type is an error.
func render(t *testing.T, text string) map[string]any {
	t.Helper()
	chart, err := loader.Load(filepath.Join(deploy, "chart"))
	if err != nil {
		t.Fatal(err)
	}
	release := common.ReleaseOptions{Name: "tools", Namespace: "team", IsInstall: true}
	all, err := util.ToRenderValues(chart, values(t, text), release, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]func() any{
		"v1 ConfigMap": func() any { return &core.ConfigMap{} }, "v1 Service": func() any { return &core.Service{} },
		"apps/v1 StatefulSet":                     func() any { return &apps.StatefulSet{} },
		"policy/v1 PodDisruptionBudget":           func() any { return &policy.PodDisruptionBudget{} },
		"autoscaling/v2 HorizontalPodAutoscaler":  func() any { return &autoscaling.HorizontalPodAutoscaler{} },
		"networking.k8s.io/v1 NetworkPolicy":      func() any { return &networking.NetworkPolicy{} },
		"monitoring.coreos.com/v1 ServiceMonitor": func() any { return &monitoring.ServiceMonitor{} },
		"gateway.networking.k8s.io/v1 HTTPRoute":  func() any { return &gateways.HTTPRoute{} },
	}
	objects := map[string]any{}
	for name, text := range files {
		for part := range strings.SplitSeq(text, "\n---\n") {
			var kind struct {
				APIVersion, Kind string
				Metadata         struct{ Name string }
			}
			if err := yaml.Unmarshal([]byte(part), &kind); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, part)
			}
			if kind.Kind == "" {
				continue // only comments
			}
			make, ok := types[kind.APIVersion+" "+kind.Kind]
			if !ok {
				t.Fatalf("%s: no type for %+v", name, kind)
			}
			object := make()
			if err := yaml.UnmarshalStrict([]byte(part), object); err != nil {
				t.Errorf("%s: %s: %v", name, kind.Kind, err)
			}
			objects[kind.Kind+" "+kind.Metadata.Name] = object
		}
	}
	return objects
}

// TestChart renders the chart with its defaults and with everything, and checks what other files depend on.
func TestChart(t *testing.T) {
	always := []string{
		"ConfigMap tools", "NetworkPolicy tools", "PodDisruptionBudget tools", "Service tools", "Service tools-peers",
		"StatefulSet tools",
	}
	optional := []string{"HTTPRoute tools", "HorizontalPodAutoscaler tools", "ServiceMonitor tools"}
	for text, want := range map[string][]string{"{}": always, everything: append(optional, always...)} {
		objects := render(t, text)
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(objects)); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		set := objects["StatefulSet tools"].(*apps.StatefulSet)
		pod := set.Spec.Template.Spec
		c := pod.Containers[0]
		if !*pod.SecurityContext.RunAsNonRoot || !*c.SecurityContext.ReadOnlyRootFilesystem {
			t.Error("it runs as root, or can write its image")
		}
		if c.LivenessProbe.HTTPGet.Path != "/livez" || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
			t.Error("the probes are others")
		}
		grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
		if needs := duration(t, c.Args, "--ready-delay=") + duration(t, c.Args, "--drain="); grace <= needs+5*time.Second {
			t.Errorf("a pod is killed after %v, and may need %v", grace, needs)
		}
		if !objects["Service tools-peers"].(*core.Service).Spec.PublishNotReadyAddresses {
			t.Error("a replica that leaves is not found")
		}
		for _, v := range pod.Volumes {
			if v.Secret != nil && *v.Secret.DefaultMode != 0o440 {
				t.Errorf("%s has mode %o, which indus refuses", v.Name, *v.Secret.DefaultMode)
			}
		}
		if route, ok := objects["HTTPRoute tools"].(*gateways.HTTPRoute); ok && !routes(route, "/mcp", "/mcp/one", "/sse", "/oauth/callback/x",
			"/.well-known/oauth-protected-resource/mcp", "/approvals", "/sign-in", "/static/page.css") {
			t.Errorf("the route leaves addresses of clients out: %+v", route.Spec.Rules)
		}
		if !json.Valid([]byte(objects["ConfigMap tools"].(*core.ConfigMap).Data["servers.json"])) {
			t.Error("the configuration is no JSON")
		}
		knowsFlags(t, c.Args)
		finds := map[string]string{"{}": "--peer=dns+srv:_peer._tcp.tools-peers.team.svc", everything: "--cluster=nats://a:4222,nats://b:4222"}
		if !slices.Contains(c.Args, finds[text]) {
			t.Errorf("replicas do not find each other: %q", c.Args)
		}
		hasKey := slices.ContainsFunc(c.Env, func(e core.EnvVar) bool {
			return e.Name == "INDUS_STORE_KEY" && e.ValueFrom.SecretKeyRef.Name == "indus-store"
		})
		if hasKey != (text == everything) {
			t.Errorf("the key of sign-ins: %+v", c.Env)
		}
	}
}

// routes reports whether a route passes all of these paths.
func routes(r *gateways.HTTPRoute, paths ...string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool {
		return !slices.ContainsFunc(r.Spec.Rules[0].Matches, func(m gateways.HTTPRouteMatch) bool {
			prefix := *m.Path.Value
			return prefix == "/" || path == prefix || strings.HasPrefix(path, prefix+"/")
		})
	})
}

// TestARouteWithoutThePage checks that no approval names a page which the route refuses.
func TestARouteWithoutThePage(t *testing.T) {
	objects := render(t, "route: {enabled: true, gateway: public, page: false}")
	route := objects["HTTPRoute tools"].(*gateways.HTTPRoute)
	args := objects["StatefulSet tools"].(*apps.StatefulSet).Spec.Template.Spec.Containers[0].Args
	if !routes(route, "/mcp", "/oauth/sign-in/x", "/.well-known/x") || routes(route, "/approvals") || !slices.Contains(args, "--no-page") {
		t.Errorf("%+v, %q", route.Spec.Rules, args)
	}
}

func duration(t *testing.T, args []string, flag string) time.Duration {
	t.Helper()
	for _, a := range args {
		if text, ok := strings.CutPrefix(a, flag); ok {
			d, err := time.ParseDuration(text)
			if err != nil {
				t.Error(err)
			}
			return d
		}
	}
	t.Errorf("%s is missing in %q", flag, args)
	return 0
}

// knowsFlags checks that indus serve has the flags of a command line.
func knowsFlags(t *testing.T, args []string) {
	t.Helper()
	source, err := filepath.Glob("../../../cmd/indus/internal/*/*.go")
	if err != nil || len(source) == 0 {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range source {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	if len(args) < 5 || args[0] != "serve" {
		t.Errorf("the command is %q", args)
	}
	for _, a := range args[1:] {
		name, _, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if !strings.Contains(all.String(), fmt.Sprintf(", %q, ", name)) {
			t.Errorf("indus serve has no flag --%s", name)
		}
	}
}

// TestCompose loads compose.yaml as Docker Compose does.
func TestCompose(t *testing.T) {
	options, err := cli.NewProjectOptions([]string{filepath.Join(deploy, "compose.yaml")}, cli.WithName("indus"))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		s, err := project.GetService(name)
		if err != nil {
			t.Fatal(err)
		}
		needs := duration(t, s.Command, "--ready-delay=") + duration(t, s.Command, "--drain=")
		if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) <= needs+5*time.Second || !s.ReadOnly {
			t.Errorf("%s: %+v", name, s)
		}
		knowsFlags(t, s.Command)
		if flag := fmt.Sprintf("--replica=%s=%[1]s-peer:7333", name); !slices.Contains(s.Command, flag) {
			t.Errorf("%s: %q, without %s", name, s.Command, flag)
		}
		if state := s.Networks["state"]; state == nil || !slices.Contains(state.Aliases, name+"-peer") {
			t.Errorf("%s: other replicas do not find it: %+v", name, s.Networks)
		}
	}
	config, err := os.ReadFile(filepath.Join(deploy, "servers.json"))
	if err != nil || !strings.Contains(string(config), `"cluster": {"nats": "nats://nats:4222"`) {
		t.Errorf("%v: the replicas have no cluster: %s", err, config)
	}
	state, err := project.GetService("nats")
	if err != nil || slices.Collect(maps.Keys(state.Networks))[0] != "state" || len(state.Networks) > 1 || len(state.Ports) > 0 {
		t.Errorf("%v: others than the replicas reach NATS: %+v", err, state)
	}
	if balancer, err := project.GetService("balancer"); err != nil || balancer.Networks["state"] != nil {
		t.Errorf("%v: HAProxy reaches NATS", err)
	}
	for _, s := range project.Services {
		for _, v := range s.Volumes {
			if v.Type == "volume" {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil && filepath.Base(v.Source) != "keys" {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	}
}

// TestNATS starts NATS with its configuration, at another address.
func TestNATS(t *testing.T) {
	program := filepath.Join(t.TempDir(), "nats")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "../natsserver/program"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(deploy, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"0.0.0.0:4222": "127.0.0.1:-1", "0.0.0.0:8222": "127.0.0.1:-1", "/data": t.TempDir()} {
		if !strings.Contains(string(text), from) {
			t.Errorf("%s is not in nats.conf", from)
		}
		text = []byte(strings.ReplaceAll(string(text), from, to))
	}
	config := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, config).Output(); err != nil || !strings.HasPrefix(string(out), "nats://") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestHAProxy lets HAProxy check its configuration.
func TestHAProxy(t *testing.T) {
	path, err := exec.LookPath("haproxy")
	if err != nil {
		t.Fatal("HAProxy is missing: run apt-get install haproxy")
	}
	if out, err := exec.Command(path, "-c", "-f", filepath.Join(deploy, "haproxy.cfg")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
