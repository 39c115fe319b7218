import { expect, it } from '@jest/globals';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { sealedTexts } from '@gatehouse/secrets/sealed-texts';
import { contextOfLogin } from './login.ts';

const id = '0190a6b8-0000-7000-8000-000000000001';
const keyRing = KeyRing.parse(`k1:${Buffer.alloc(32, 7).toString('base64')}`);
const stored = {
  id_token:
    'AQJrMdVCcegyyiCmxCxI01FpcueYG4Szgmpgbj4gttFeD7/q7gbMLUEQANrkD61ft0iahWldd1+KDwjdqstQ4goj8OiItDE8jG88FfTmLEsqA6QHls+QqLGtdL8KC/4GJ7bJjgLr8nsJ3/EJun9ApydpPg==',
  refresh_token:
    'AQJrMY6gvy6hd3UZIGRsPCzb9bGSF8UgqNz5WPjoirYRLBEkK0fEOuH/221k7ZfT9qpI9wWfPie2bpjhiLmNpw3WUkgMBw8oFDHNL7F5+Qdef9av2WtnNWyNEsJCYtuLfbnTyOUNXvgNaItIr9FlkMVZuw==',
};

it.each(['id_token', 'refresh_token'] as const)('opens a %s that release 0.3.0 has stored', (column) => {
  const secrets = sealedTexts(keyRing, contextOfLogin);
  expect(secrets.open({ id, column }, Buffer.from(stored[column], 'base64'))).toBe('sealed by release 0.3.0');
});

it('opens no token of another column or login', () => {
  const secrets = sealedTexts(keyRing, contextOfLogin);
  const sealed = Buffer.from(stored.id_token, 'base64');
  expect(() => secrets.open({ id, column: 'refresh_token' }, sealed)).toThrow();
  expect(() => secrets.open({ id: id.replace('1', '2'), column: 'id_token' }, sealed)).toThrow();
});
