package telemetry

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// contentType is the text format of Prometheus. Its version is stable since 2014.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// page writes metrics in the text format of Prometheus, under the names that the specification of OpenTelemetry gives
// them ("Prometheus and OpenMetrics Compatibility").
type page struct {
	out    bytes.Buffer
	names  otlptranslator.MetricNamer
	labels otlptranslator.LabelNamer
	err    error
}

// writeMetrics returns the page of all metrics, sorted by name.
func writeMetrics(all *metricdata.ResourceMetrics) ([]byte, error) {
	p := &page{names: otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)}
	if all.Resource != nil {
		labels := p.labelText(all.Resource.Set())
		p.family("target_info", "The process that is measured.", "gauge",
			map[string]string{labels: sample("target_info", labels, "1")})
	}
	var metrics []metricdata.Metrics
	for _, s := range all.ScopeMetrics {
		metrics = append(metrics, s.Metrics...)
	}
	slices.SortStableFunc(metrics, func(a, b metricdata.Metrics) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range metrics {
		p.metric(&m)
	}
	return p.out.Bytes(), p.err
}

func (p *page) metric(m *metricdata.Metrics) {
	switch data := m.Data.(type) {
	case metricdata.Gauge[int64]:
		points(p, m, otlptranslator.MetricTypeGauge, data.DataPoints)
	case metricdata.Gauge[float64]:
		points(p, m, otlptranslator.MetricTypeGauge, data.DataPoints)
	case metricdata.Sum[int64]:
		points(p, m, sumType(data.IsMonotonic), data.DataPoints)
	case metricdata.Sum[float64]:
		points(p, m, sumType(data.IsMonotonic), data.DataPoints)
	case metricdata.Histogram[float64]:
		p.histogram(m, data.DataPoints)
	default:
		p.fail(fmt.Errorf("metric %s: the kind %T has no text form", m.Name, data))
	}
}

func sumType(monotonic bool) otlptranslator.MetricType {
	if monotonic {
		return otlptranslator.MetricTypeMonotonicCounter
	}
	return otlptranslator.MetricTypeNonMonotonicCounter
}

func points[N int64 | float64](
	p *page, m *metricdata.Metrics, kind otlptranslator.MetricType, list []metricdata.DataPoint[N],
) {
	text := "gauge"
	if kind == otlptranslator.MetricTypeMonotonicCounter {
		text = "counter"
	}
	name, samples := p.name(m, kind), map[string]string{}
	for _, d := range list {
		labels := p.labelText(&d.Attributes)
		samples[labels] = sample(name, labels, decimal(float64(d.Value)))
	}
	p.family(name, m.Description, text, samples)
}

func (p *page) histogram(m *metricdata.Metrics, list []metricdata.HistogramDataPoint[float64]) {
	name, samples := p.name(m, otlptranslator.MetricTypeHistogram), map[string]string{}
	for _, d := range list {
		labels, text, sum := p.labelText(&d.Attributes), "", uint64(0)
		for i, n := range d.BucketCounts {
			sum += n
			bound := "+Inf"
			if i < len(d.Bounds) {
				bound = decimal(d.Bounds[i])
			}
			text += sample(name+"_bucket", strings.TrimPrefix(labels+`,le="`+bound+`"`, ","), strconv.FormatUint(sum, 10))
		}
		samples[labels] = text + sample(name+"_sum", labels, decimal(d.Sum)) +
			sample(name+"_count", labels, strconv.FormatUint(d.Count, 10))
	}
	p.family(name, m.Description, "histogram", samples)
}

func (p *page) name(m *metricdata.Metrics, kind otlptranslator.MetricType) string {
	name, err := p.names.Build(otlptranslator.Metric{Name: m.Name, Unit: m.Unit, Type: kind})
	p.fail(err)
	return name
}

func (p *page) fail(err error) { p.err = cmp.Or(p.err, err) }

// family writes a metric with its samples, sorted by their labels.
func (p *page) family(name, help, kind string, samples map[string]string) {
	fmt.Fprintf(&p.out, "# HELP %s %s\n# TYPE %s %s\n", name, helpEscapes.Replace(help), name, kind)
	for _, labels := range slices.Sorted(maps.Keys(samples)) {
		p.out.WriteString(samples[labels])
	}
}

// sample returns the line of one value.
func sample(name, labels, value string) string {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	return name + labels + " " + value + "\n"
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// labelText returns the labels of a set, which is sorted.
func (p *page) labelText(set *attribute.Set) string {
	var out []string
	for _, kv := range set.ToSlice() {
		name, err := p.labels.Build(string(kv.Key))
		p.fail(err)
		value := strings.ToValidUTF8(kv.Value.String(), "\uFFFD")
		out = append(out, name+`="`+valueEscapes.Replace(value)+`"`)
	}
	return strings.Join(out, ",")
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
