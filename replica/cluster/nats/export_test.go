package nats

import "time"

// ClockWarning is clockWarning.
var ClockWarning = clockWarning

// SetBack sets the engine's time back, as after a time in which the machine was suspended.
func (e *Engine) SetBack(d time.Duration) { e.setClock(e.Now().Add(-d), time.Now()) }

// Fault is fault.
var Fault = fault

// Sent returns how many messages were sent to the server.
func (e *Engine) Sent() uint64 { return e.conn.Stats().OutMsgs }
