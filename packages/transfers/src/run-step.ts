import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { withTenant, type Pool, type Queryable } from '@gatehouse/pg/pool';
import type { RunStepRequest, RunStepResponse } from '@gatehouse/proto/participant/v1/participant';
import { enterTransfer, setState } from './store/transfer-state.ts';
import { readStep, readTransfer, type Transfer, type TransferStep } from './transfer.ts';

/**
 * Does a step, or a part of it, in the transaction of `db`, which sees the rows of the source (see `inTarget`).
 * Returns whether the step is completed. Must be repeatable.
 */
export type StepWork = (db: Queryable, transfer: Transfer) => Promise<boolean>;

export interface RunStepOptions {
  /** The schema; it must have a table `transfers`. */
  service: string;
  /** A pool of `<service>_app`. */
  app: Pool;
  steps: Readonly<Record<TransferStep, StepWork>>;
}

/**
 * Runs the steps of transfers. The steps of a transfer in a service are serialized by its row, so a late step finds
 * what was decided meanwhile.
 */
export function runStep({ service, app, steps }: RunStepOptions): Rpc<RunStepRequest, RunStepResponse> {
  return {
    callers: ['tenant'],
    handle: async (request) => {
      const transfer = readTransfer(request.transfer);
      const step = readStep(request.step);
      return withTenant(app, transfer.sourceTenantId, async (db) => {
        const state = await enterTransfer(db, service, transfer);
        const end = step === 'commit' ? 'committed' : step === 'abort' ? 'aborted' : null;
        if (state !== 'open') {
          if (state === end) return { completed: true };
          throw new AppError('resource_locked', `The transfer is ${state} already.`);
        }
        const completed = await steps[step](db, transfer);
        if (completed && end !== null) await setState(db, service, transfer, end);
        return { completed };
      });
    },
  };
}
