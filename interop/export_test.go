package interop

import "time"

// SetProbeWait sets how long server/discover stays alone on a stream.
func SetProbeWait(o *EndpointOptions, d time.Duration) { o.probeWait = d }
