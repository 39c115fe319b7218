import { describe, expect, it } from '@jest/globals';
import { requiredSettings } from '../test/required-settings.ts';
import { loadConfig } from './config.ts';

const originsOf = (CORS_ORIGINS: string): readonly string[] =>
  loadConfig({ ...requiredSettings, CORS_ORIGINS }).CORS_ORIGINS;

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
