import { expect, it } from '@jest/globals';
import { publicUrlSettings } from './settings.ts';

const { PUBLIC_URL: setting } = publicUrlSettings;

it.each([
  ['', ''],
  ['https://gateway.example.com', 'https://gateway.example.com'],
  ['https://gateway.example.com/', 'https://gateway.example.com'],
  ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['http://[::1]/', 'http://[::1]'],
  ['http://localhost', 'http://localhost'],
])('the public URL may be %j', (given, url) => {
  expect(setting.parse(given)).toBe(url);
});

it.each([
  'http://gateway.example.com',
  'https://',
  'gateway.example.com',
  'http://localhost.example.com',
  'ftp://x',
])('the public URL may not be %s', (given) => {
  expect(setting.safeParse(given).error?.issues[0]?.message).toContain('https');
});
