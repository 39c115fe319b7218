import { isOutage } from '@gatehouse/grpc/errors';
import type { JobHandler } from '@gatehouse/jobs/task';
import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import type { TransferStep } from '@gatehouse/transfers/transfer';
import { shiftMs, transferPauseMs, patienceS, maxFailures, quietS } from '../bounds.ts';
import type { TransferSystemStore } from './transfer-system-store.ts';
import type { Phase, Transfer } from './transfer.ts';

/** Services with a part in transfers, in the order in which a transfer becomes effective in them. */
export const transferServices = ['memory', 'agent', 'webhook'] as const;
export type TransferService = (typeof transferServices)[number];

export interface CarryOutOptions {
  transfers: TransferSystemStore;
  /** Returns whether the step is completed. */
  runStep: (service: TransferService, transfer: Transfer, step: TransferStep) => Promise<boolean>;
  /** Whether requests to what moves are under way. */
  isBusy: (transfer: Transfer) => Promise<boolean>;
}

/** A transfer was undone in the service in which it would have become effective first. */
class UndoneError extends AppError {}

/**
 * Takes a transfer through its phases. Each step is repeatable, and the phase is stored before its first step: any
 * replica goes on where another one stopped.
 */
export function carryOut({
  transfers,
  runStep,
  isBusy,
}: CarryOutOptions): JobHandler<{ transferId: string }> {
  /** Runs a step in all services, until each has completed it. Returns false if there is more to do. */
  async function all(
    transfer: Transfer,
    step: TransferStep,
    signal: AbortSignal,
    until: number,
  ): Promise<boolean> {
    for (const service of transferServices)
      while (!(await runStep(service, transfer, step))) {
        if (monotonicMs() > until) return false;
        await sleep(step === 'copy' ? 0 : transferPauseMs, signal);
      }
    return true;
  }

  async function isQuiet(transfer: Transfer): Promise<boolean> {
    return transfer.phaseS >= quietS && !(await isBusy(transfer));
  }

  /** Does the work of a phase. Returns the next one, or the same if there is more to do. */
  async function work(transfer: Transfer, signal: AbortSignal, until: number): Promise<Phase> {
    const { phase, mode } = transfer;
    switch (phase) {
      case 'locking':
        if (await all(transfer, 'lock', signal, until)) return 'copying';
        if (transfer.phaseS <= patienceS.locking) return phase;
        throw new AppError('resource_locked', 'Timed out waiting for in-flight work on the resources.');
      case 'copying':
        if (!(await all(transfer, 'copy', signal, until))) return phase;
        return mode === 'move' ? 'closing' : 'committing';
      case 'closing':
        if ((await all(transfer, 'close', signal, until)) && (await isQuiet(transfer))) return 'committing';
        if (transfer.phaseS > patienceS.closing)
          throw new AppError('resource_locked', 'Timed out waiting for requests in flight.');
        await sleep(transferPauseMs, signal);
        return phase;
      case 'committing':
        if (transfer.phaseS > patienceS.committing && (await isUndone(runStep, transfer)))
          throw new UndoneError('resource_locked', 'The transfer could not become effective in time.');
        return (await all(transfer, 'commit', signal, until)) ? 'completed' : phase;
      case 'aborting':
        return (await all(transfer, 'abort', signal, until)) ? 'failed' : phase;
      case 'completed':
      case 'failed':
        return phase;
    }
  }

  return async ({ transferId }, { signal, log, attempt }) => {
    const until = monotonicMs() + shiftMs;
    for (;;) {
      const transfer = await transfers.find(transferId);
      if (transfer === null || transfer.finishedAt !== null) return;
      const { phase } = transfer;
      try {
        const next = await work(transfer, signal, until);
        if (next === 'completed' || next === 'failed') {
          await transfers.finish(transfer, next);
          log.info({ transfer_id: transferId, status: next }, 'finished a transfer');
        } else if (phase === 'copying' && next !== phase) await transfers.enterCopied(transfer, next);
        else if (next !== phase) await transfers.enter(transferId, phase, next);
      } catch (error) {
        signal.throwIfAborted();
        if (!mayGiveUp(transfer, error, attempt)) {
          log.warn(
            { transfer_id: transferId, phase, err: error },
            'failed to carry out a step of a transfer',
          );
          throw error;
        }
        const { code, message } = error as AppError;
        log.warn({ transfer_id: transferId, err: error }, 'undoing a transfer');
        await transfers.enter(transferId, phase, 'aborting', { code, message });
      }
      if (monotonicMs() > until) return transfers.resume(transfer);
    }
  };
}

/**
 * Undoes a transfer in the first service to make it effective. Returns false if it is effective there: then it must go
 * on. A late commit finds it undone.
 */
async function isUndone(runStep: CarryOutOptions['runStep'], transfer: Transfer): Promise<boolean> {
  const [first] = transferServices;
  try {
    return await runStep(first, transfer, 'abort');
  } catch (error) {
    if (error instanceof AppError && error.code === 'resource_locked') return false;
    throw error;
  }
}

/** Not once it is effective anywhere; and an outage may end. */
function mayGiveUp({ phase }: Transfer, error: unknown, attempt: number): boolean {
  if (error instanceof UndoneError) return true;
  if (phase !== 'locking' && phase !== 'copying' && phase !== 'closing') return false;
  if (!(error instanceof AppError)) return false;
  const passes = isOutage(error) || error.status >= 500;
  return !passes || attempt > maxFailures;
}
