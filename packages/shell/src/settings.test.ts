import { describe, expect, it } from '@jest/globals';
import { parseConfig } from '@gatehouse/kit/config';
import { z } from 'zod';
import { grpcSettings, serviceSettings } from './settings.ts';

const keys = { ASSERTION_PRIVATE_KEY: 'private', ASSERTION_PUBLIC_KEYS: 'public' };

describe('settings of every service', () => {
  it('have safe defaults, which an empty variable leaves in place', () => {
    const config = parseConfig(z.object({ ...serviceSettings, ...grpcSettings }), {
      ...keys,
      HTTP_PORT: '',
      LOG_LEVEL: '',
      DRAIN_TIMEOUT_MS: ' ',
    });
    expect(config).toMatchObject({
      HTTP_PORT: 8080,
      GRPC_PORT: 9000,
      ADMIN_PORT: 9090,
      LOG_LEVEL: 'info',
      DRAIN_TIMEOUT_MS: 30_000,
    });
  });

  it.each(Object.keys(keys))('need %s', (name) => {
    const shape = z.object(serviceSettings);
    expect(() => parseConfig(shape, { ...keys, [name]: '' })).toThrow(`${name}:`);
  });
});
