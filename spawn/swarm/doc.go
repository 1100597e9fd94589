// Package swarm runs one function over many inputs, each as a worker of a
// spawner, and yields a result for every input in the order of the inputs:
//
//	for key, r := range swarm.Run(ctx, spawner, slices.All(files), summarize) {
//		if r.Err != nil {
//			log.Printf("file %d: %v", key, r.Err)
//			continue
//		}
//		fmt.Println(r.Value)
//	}
//
// Members are started as they can be used, never more than Config.Cap at once,
// so a million inputs cost no more memory than the members at work and the
// results that wait for one before them. An input costs some 30 µs and 3 KB of
// garbage besides its work (BenchmarkSwarm), one found in a Store 2 µs
// (BenchmarkStored). The failure of one is its own: it
// becomes that input's Result, and the others go on. What has finished is not
// lost to a canceled context, a drain, a panic or a broken loop.
//
// New takes a Config for the rest: a cap, a start in a burst and then at a pace,
// events, progress, and a Store that lets a later run of the same keys start only
// what is missing.
//
// # How a swarm meets a limit
//
// It meets it as the spawner's workers do. A refused member backs off without a
// slot and comes back through the limiter ahead of new work, the first refused
// first, while members that have not started wait. One at its last retry queues
// as new work while the storm lasts, so that it is not the one to die of it. Inputs whose member has not
// been started spend nothing of Policy.MaxElapsed, which counts from each
// member's own start. The last one left is treated like anybody: see
// Config.Patience.
package swarm
