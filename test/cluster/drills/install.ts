import OpenAI from 'openai';
import { usageSummary } from '@gatehouse/contract/usage';
import { expectSuccess, GatewayClient } from '@gatehouse/local/gateway-client';
import type { Drill } from '../drill.ts';
import { within } from '../drill.ts';

/** An empty cluster becomes a gateway that answers an SDK, and the answer is in usage, through Kafka. */
export const install: Drill = {
  name: 'install',
  title: 'Fresh install; the OpenAI SDK streams from an agent; the run is in usage through Kafka',
  async run(cluster) {
    const start = performance.now();
    await cluster.prepare();
    await cluster.deploy();
    const seconds = Math.round((performance.now() - start) / 1_000);
    await cluster.bootstrap();
    const tenant = await cluster.makeTenant();
    const api = new GatewayClient(cluster.url);
    const agent = { key: 'helper', name: 'Helper', model: 'gpt-4.1-mini' };
    expectSuccess(await api.call(tenant.adminKey, 'POST', '/v1/agents', agent), 'making an agent');

    const client = new OpenAI({ baseURL: `${cluster.url}/v1`, apiKey: tenant.userKey, maxRetries: 0 });
    const stream = await client.chat.completions.create({
      model: 'agent:helper',
      messages: [{ role: 'user', content: 'Hello!' }],
      stream: true,
    });
    let chunks = 0;
    let text = '';
    for await (const chunk of stream) {
      chunks += 1;
      text += chunk.choices[0]?.delta.content ?? '';
    }
    if (text === '') throw new Error(`the stream of ${chunks} chunks carried no text`);
    const visible = await within(30_000, 'the run is in usage', async () => {
      const answer = await api.call(tenant.adminKey, 'GET', '/v1/usage/summary');
      return usageSummary.parse(expectSuccess(answer, 'reading usage')).totals.requests === 1;
    });
    return `ready after ${seconds} s; a stream of ${chunks} chunks; in usage within ${visible + 1} s`;
  },
};
