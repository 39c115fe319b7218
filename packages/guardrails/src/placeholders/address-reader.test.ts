import { describe, expect, it } from '@jest/globals';
import { AddressReader } from './address-reader.ts';

/** The host behind a text, however it is split: undefined outside of an address, null for an unknown one. */
function hostBehind(text: string): string | null | undefined {
  const [whole, split] = [new AddressReader(), new AddressReader()];
  whole.push(text);
  for (const unit of text.split('')) split.push(unit);
  expect(split.open).toEqual(whole.open);
  return whole.open === null ? undefined : whole.open.host;
}

describe('an address', () => {
  it.each([
    ['See https://a.example/x?q=', 'a.example'],
    ['HTTP://A.example:8080/', 'a.example'],
    ['https://user:word@a.example/', 'a.example'],
    ['https:/a.example/', 'a.example'],
    ['www.a.example/', 'www.a.example'],
    ['![x](https://a.example/?d=', 'a.example'],
    ['![x](https://a.example/(b)', 'a.example'],
    ['![x](https://a.example/\\)', 'a.example'],
    ['![x](<https://a.example/ b ', 'a.example'],
    ['[x]: //a.example/', 'a.example'],
    ['[x](//a.example/', 'a.example'],
    ['<img src="https://a.example/ b\n', 'a.example'],
    ['<img src=\\"https://a.example/ b', 'a.example'],
    ["<img srcset='b.png 1x, //a.example/", 'a.example'],
    ['<img src=//a.example/', 'a.example'],
    ['<a href="https://a.example/ b', 'a.example'],
    ['background: url("https://a.example/ ', 'a.example'],
    ['https://a.example/?to=https://b.example/', 'a.example'],
    ['{"url":"https://a.example/', 'a.example'],
  ])('%s has the host %s', (text, host) => {
    expect(hostBehind(text)).toBe(host);
  });

  it.each([
    'https://',
    'https://a.example',
    'https://a.example@',
    'https:\\\\a.example/',
    '[x](https://a.example\\@b.example/',
    '[x](https://a.example&#64;b.example/',
    '[x](h&#116;tps://a.example/',
    '[x](https\\://a.example/',
    '[x](\\\\a.example/',
  ])('%s has an unknown host', (text) => {
    expect(hostBehind(text)).not.toBe('a.example');
    expect(hostBehind(text)).not.toBeUndefined();
  });

  it.each([
    'https://a.example/ ',
    '<https://a.example/>',
    '(https://a.example/)',
    '"https://a.example/"',
    '[x](https://a.example/)',
    '[x](<https://a.example/>',
    '<img src="https://a.example/">',
    'x[0]: ',
    '[x](mailto:',
    '[x](',
    '[x](/b?c=',
    '<a href="/b',
    '// a comment ',
    'href = "',
    '<a href="#c',
  ])('%s is over, or none', (text) => {
    expect(hostBehind(text)).toBeUndefined();
  });
});
