import type { SystemService } from '@gatehouse/contract/owner-system';
import type { Handler } from '@gatehouse/http/app';
import { AppError, toAppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import type { GetSystemStateResponse } from '@gatehouse/proto/system/v1/system';
import type { Reply } from '@gatehouse/http/reply';

type ReadState = () => Promise<GetSystemStateResponse>;

/** `GET /internal/v1/owner/system`. Concurrent requests share one answer. */
export function systemHandlers(states: ReadonlyMap<string, ReadState>, log: Logger): Record<string, Handler> {
  const answers = new SharedCalls<Reply>();
  return {
    'owner.system.get': () =>
      answers.get('', async () => {
        const read = await Promise.all(
          [...states].map(async ([service, state]) => {
            try {
              return { service, state: await state(), error: null };
            } catch (error) {
              return { service, state: null, error: codeOf(error, service, log) };
            }
          }),
        );
        const lag = read.find(({ state }) => state?.usageLagSeconds !== undefined)?.state?.usageLagSeconds;
        const data = read.map(({ service, state, error }) =>
          state === null ? { service, ...down, error } : { service, ...toFigures(state) },
        );
        return { body: { object: 'list', usage_lag_seconds: lag === undefined ? null : tenths(lag), data } };
      }),
  };
}

type Figures = Omit<SystemService, 'service'>;

const down: Figures = {
  ...{ status: 'down', error: null, replicas: null, outboxes: null, queues: null },
  ...{ dead_jobs: null, dead_letters: null },
};

function toFigures({ replicas, outboxes, queues, deadJobs, deadLetters }: GetSystemStateResponse): Figures {
  return {
    ...{ status: 'up', error: null, replicas },
    outboxes: outboxes.map(({ name, waiting, oldestAgeSeconds, deadLetters: dead }) => ({
      ...{ name, waiting, oldest_age_seconds: tenths(oldestAgeSeconds), dead_letters: dead },
    })),
    queues: queues.map(({ name, waiting, oldestAgeSeconds }) => ({
      ...{ name, waiting, oldest_age_seconds: tenths(oldestAgeSeconds) },
    })),
    ...{ dead_jobs: deadJobs, dead_letters: deadLetters ?? null },
  };
}

/** Pages show figures as they are. */
function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

/** A failure other than an outage of the service is logged, since its figures are missing for as long as it lasts. */
function codeOf(error: unknown, service: string, log: Logger): string {
  const { code, status } = toAppError(error);
  if (!(error instanceof AppError) || status < 503)
    log.warn({ err: error, peer: service }, 'failed to read the state of a service');
  return code;
}
