package interop

import "time"

// SetProbeWait shortens how long server/discover stays alone on a stream.
func SetProbeWait(o *EndpointOptions, d time.Duration) { o.probeWait = d }
