import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { noUsage } from '@gatehouse/dialects/usage/usage';
import { newId } from '@gatehouse/kit/ids';
import type { PublishedRow } from '../src/recording/log-group-store.ts';
import { endRun, makeLog } from './logged-runs.ts';
import { ended, someRun, start } from './run-rows.ts';
import { createSystemDatabase, type SystemDatabase } from './system-database.ts';

let database: SystemDatabase;
beforeAll(async () => {
  database = await createSystemDatabase();
});
afterAll(async () => database.drop());

describe('the end of a run as an object', () => {
  const at = '2026-11-30T10:00:00.000Z';

  it.each(['plain', 'nul \u0000', '\ud800 alone', 'written \\u0000', 'x'.repeat(10_000)])(
    'equals its JSON (%.20s)',
    async (text) => {
      const pushed: PublishedRow[] = [];
      const publisher = {
        isOpen: true,
        takesObjects: true,
        push: (row: PublishedRow) => void pushed.push(row),
      };
      const log = await makeLog(database.pool, { publisher });
      const row = start({ ...someRun(text), user_id: text.slice(0, 200) });
      await log.start(row);
      const end = ended(row, 7n);
      const cost = { costPico: 7n, source: 'catalogue' as const, version: text.slice(0, 10) };
      const called = {
        ...row.attempt,
        status: 'ok' as const,
        offsetMs: 1,
        durationMs: 2,
        timeToFirstTokenMs: null,
      };
      const attempt = {
        ...called,
        httpStatus: 200,
        errorCode: null,
        responseModel: text,
        usage: noUsage,
        cost,
      };
      const tool = {
        ...{ id: newId(), name: text, server: text, tool: text },
        ...{ outcome: 'ok', offsetMs: 1, durationMs: 2 },
      };
      const withTexts = { ...end.end, outputPreview: text, errorMessage: text, tools: [tool] };
      await endRun({ ...end, attempts: [attempt], end: withTexts });
      const [run] = pushed[0]?.runs ?? [];
      const data = JSON.parse(pushed[0]?.events[0]?.data ?? '') as object;
      expect(run?.ended(at, at)).toEqual({ ...data, started_at: at, ended_at: at });
    },
  );
});
