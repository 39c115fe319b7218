import { describe, expect, it } from '@jest/globals';
import { loadConfig } from './config.ts';

const required = {
  ...Object.fromEntries(
    [
      ...['TENANT_GRPC', 'TENANT_HTTP', 'AGENT_HTTP', 'CHAT_HTTP', 'ANALYTICS_HTTP', 'MEMORY_HTTP'],
      'WEBHOOK_HTTP',
    ].map((name) => [name, 'a:1']),
  ),
  ASSERTION_PRIVATE_KEY: 'x',
  ASSERTION_PUBLIC_KEYS: 'x',
};
const originsOf = (CORS_ORIGINS: string): readonly string[] =>
  loadConfig({ ...required, CORS_ORIGINS }).CORS_ORIGINS;

describe('CORS_ORIGINS', () => {
  it.each([
    ['', []],
    ['https://app.example.com', ['https://app.example.com']],
    ['https://a.test, http://localhost:3000,', ['https://a.test', 'http://localhost:3000']],
    ['http://[::1]:8080', ['http://[::1]:8080']],
  ])('takes %p', (text, expected) => {
    expect(originsOf(text)).toEqual(expected);
  });

  it.each([
    '*',
    'null',
    'app.example.com',
    'https://*.example.com',
    'https://app.example.com/',
    'https://app.example.com/path',
    'https://App.example.com',
    'https://app.example.com:443',
    'https://user@app.example.com',
    'ftp://app.example.com',
    'https://a.test https://b.test',
    'https://a.test,*',
  ])('refuses %p and says what it takes', (text) => {
    expect(() => originsOf(text)).toThrow(/CORS_ORIGINS: must be exact origins such as https:/);
  });
});
