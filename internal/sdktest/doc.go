// Package sdktest proves that package retry reads the errors of real SDK
// clients: each client calls a server on loopback that answers as its provider
// does, and what comes out of the client is classified. It is a module of its own,
// so that no SDK is required by holdoff itself.
package sdktest
