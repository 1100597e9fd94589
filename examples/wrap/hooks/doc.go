// Package desk is the host with the limiter's hooks: nobody new is spawned during
// a pause, and a refused job is the first to be spawned after it.
package desk
