import type { RunStatus } from '../runs/run.ts';

/** How a batch ended, as its run has it. */
export interface Outcome {
  status: RunStatus;
  errorType: string | null;
  errorMessage: string | null;
}

export const outcomes = {
  ok: { status: 'ok', errorType: null, errorMessage: null },
  cancelled: { status: 'cancelled', errorType: null, errorMessage: null },
  expired: {
    status: 'error',
    errorType: 'batch_expired',
    errorMessage: 'The provider did not answer all requests of the batch in time.',
  },
  failed: { status: 'error', errorType: 'batch_failed', errorMessage: 'The provider refused the batch.' },
  unreachable: {
    status: 'error',
    errorType: 'batch_unreachable',
    errorMessage:
      'The provider did not say for three days how the batch ended, or did not have all of its results.',
  },
} as const satisfies Record<string, Outcome>;
