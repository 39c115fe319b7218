import type { Changes } from '@gatehouse/audited-changes/changes';
import type { FairQueue } from '@gatehouse/kit/fair-queue';
import type { Pool } from '@gatehouse/pg/pool';
import type { Splitter } from '../documents/splitter.ts';
import type { RequestJobs } from '../jobs/tasks.ts';
import type { Peers } from '../clients/peers.ts';

/** Things shared by features; each uses some of them. */
export interface Ground {
  app: Pool;
  system: Pool;
  /** For RPCs: turns of agents wait for them. */
  rpc: Pool;
  /** For jobs and transfers. */
  jobs: Pool;
  peers: Peers;
  changes: Changes;
  splitter: Splitter;
  /** Limits the work one tenant has under way. */
  work: FairQueue;
  requestJob: RequestJobs;
}
