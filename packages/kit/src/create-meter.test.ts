import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { OtlpReceiver } from '@gatehouse/test/otlp-receiver';
import { z } from 'zod';
import { monotonicMs } from './clock.ts';
import { parseConfig } from './config.ts';
import { createMeter } from './create-meter.ts';
import { createLogger } from './log.ts';
import type { Meter, RecordValue } from './meter.ts';
import { otlpSettings } from './otlp-settings.ts';

const log = createLogger('test', 'silent');

let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await OtlpReceiver.start();
});
afterEach(() => receiver.stop());

async function meterFor(environment: Record<string, string>): Promise<Meter | undefined> {
  return createMeter('chat', parseConfig(z.object(otlpSettings), environment), log);
}

async function started(
  environment: Record<string, string> = {},
): Promise<{ record: RecordValue; stop: () => Promise<void> }> {
  const meter = await meterFor({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...environment });
  if (meter === undefined) throw new Error('nothing is measured');
  const record = meter.histogram({ name: 'work.time', description: 'd', unit: 's', boundaries: [1, 2.5] });
  return { record, stop: () => meter.stop() };
}

describe('a meter', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  it.each([
    ['without an endpoint', {}],
    ['without an exporter', { ...endpoint, OTEL_METRICS_EXPORTER: 'none' }],
    ['switched off', { ...endpoint, OTEL_SDK_DISABLED: 'true' }],
  ])('there is none %s', async (_name, environment) => {
    expect(await meterFor(environment)).toBeUndefined();
  });

  it('sends what is left when it stops, a series for each set of attributes', async () => {
    const { record, stop } = await started({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${receiver.url}/v1/metrics`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20secret',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
    record(0.5, { kind: 'a', port: 80, nothing: undefined });
    record(2, { kind: 'a', port: 80 });
    record(7, { kind: 'b', port: 80 });
    await stop();
    expect(receiver.headers[0]).toMatchObject({ 'x-key': 'a secret' });
    const of = { service: 'chat', name: 'work.time', unit: 's', boundaries: [1, 2.5] };
    expect(receiver.histograms).toMatchObject([
      { ...of, count: 2, sum: 2.5, attributes: { kind: 'a', port: 80 } },
      { ...of, count: 1, sum: 7, attributes: { kind: 'b', port: 80 } },
    ]);
    expect(receiver.histograms[0]?.resource).toMatchObject({
      'service.namespace': 'gatehouse',
      'deployment.environment.name': 'test',
    });
  });

  it('says when exporting begins to fail, and sends all of it once that works', async () => {
    receiver.status = 400;
    const warn = jest.spyOn(log, 'warn').mockImplementation(() => undefined);
    const { record, stop } = await started({ OTEL_METRIC_EXPORT_INTERVAL: '50' });
    record(1, {});
    await eventually(() => expect(receiver.headers.length).toBeGreaterThanOrEqual(3));
    receiver.status = 200;
    record(2, {});
    await eventually(() => expect(receiver.histograms.at(-1)).toMatchObject({ count: 2, sum: 3 }));
    await stop();
    expect(warn.mock.calls.map(([, message]) => message)).toEqual(['failed to export metrics']);
    warn.mockRestore();
  });

  it('does not hold up the end of the process when no receiver listens', async () => {
    const { record, stop } = await started(endpoint);
    record(1, {});
    const began = monotonicMs();
    await stop();
    expect(monotonicMs() - began).toBeLessThan(5_000);
  });
});
