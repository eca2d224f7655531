package telemetry

import (
	"bytes"
	"cmp"
	"fmt"
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
		p.family("target_info", "The process that is measured.", "gauge")
		p.sample("target_info", p.labelText(all.Resource.Set()), "1")
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
		p.points(m, otlptranslator.MetricTypeGauge, pointsOf(data.DataPoints))
	case metricdata.Gauge[float64]:
		p.points(m, otlptranslator.MetricTypeGauge, pointsOf(data.DataPoints))
	case metricdata.Sum[int64]:
		p.points(m, sumType(data.IsMonotonic), pointsOf(data.DataPoints))
	case metricdata.Sum[float64]:
		p.points(m, sumType(data.IsMonotonic), pointsOf(data.DataPoints))
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

// point is one value with its labels.
type point struct {
	set   attribute.Set
	value string
}

func pointsOf[N int64 | float64](list []metricdata.DataPoint[N]) []point {
	out := make([]point, 0, len(list))
	for _, d := range list {
		out = append(out, point{d.Attributes, decimal(float64(d.Value))})
	}
	return out
}

func (p *page) points(m *metricdata.Metrics, kind otlptranslator.MetricType, list []point) {
	text := "gauge"
	if kind == otlptranslator.MetricTypeMonotonicCounter {
		text = "counter"
	}
	name := p.name(m, kind)
	p.family(name, m.Description, text)
	for _, at := range sortByLabels(list, func(d point) attribute.Set { return d.set }, p) {
		p.sample(name, at.labels, at.value.value)
	}
}

func (p *page) histogram(m *metricdata.Metrics, list []metricdata.HistogramDataPoint[float64]) {
	name := p.name(m, otlptranslator.MetricTypeHistogram)
	p.family(name, m.Description, "histogram")
	of := func(d metricdata.HistogramDataPoint[float64]) attribute.Set { return d.Attributes }
	for _, at := range sortByLabels(list, of, p) {
		sum := uint64(0)
		for i, n := range at.value.BucketCounts {
			sum += n
			bound := "+Inf"
			if i < len(at.value.Bounds) {
				bound = decimal(at.value.Bounds[i])
			}
			p.sample(name+"_bucket", join(at.labels, `le="`+bound+`"`), strconv.FormatUint(sum, 10))
		}
		p.sample(name+"_sum", at.labels, decimal(at.value.Sum))
		p.sample(name+"_count", at.labels, strconv.FormatUint(at.value.Count, 10))
	}
}

// labelled is a data point with its labels as text.
type labelled[D any] struct {
	labels string
	value  D
}

func sortByLabels[D any](list []D, set func(D) attribute.Set, p *page) []labelled[D] {
	out := make([]labelled[D], 0, len(list))
	for _, d := range list {
		labels := set(d)
		out = append(out, labelled[D]{p.labelText(&labels), d})
	}
	slices.SortFunc(out, func(a, b labelled[D]) int { return cmp.Compare(a.labels, b.labels) })
	return out
}

func (p *page) name(m *metricdata.Metrics, kind otlptranslator.MetricType) string {
	name, err := p.names.Build(otlptranslator.Metric{Name: m.Name, Unit: m.Unit, Type: kind})
	p.fail(err)
	return name
}

func (p *page) fail(err error) { p.err = cmp.Or(p.err, err) }

func (p *page) family(name, help, kind string) {
	fmt.Fprintf(&p.out, "# HELP %s %s\n# TYPE %s %s\n", name, helpEscapes.Replace(help), name, kind)
}

func (p *page) sample(name, labels, value string) {
	p.out.WriteString(name)
	if labels != "" {
		p.out.WriteString("{" + labels + "}")
	}
	p.out.WriteString(" " + value + "\n")
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

func join(labels, label string) string {
	if labels == "" {
		return label
	}
	return labels + "," + label
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
