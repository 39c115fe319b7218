import { describe, expect, it } from '@jest/globals';
import { HostCookie } from './host-cookie.ts';

describe('HostCookie', () => {
  it.each([
    ['https://gateway.example.com', '__Host-a=b; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure'],
    ['', '__Host-a=b; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure'],
    ['http://127.0.0.1:8080', 'a=b; Path=/; Max-Age=60; HttpOnly; SameSite=Lax'],
  ])('of a gateway at %j is %s', (publicUrl, header) => {
    expect(new HostCookie('a', publicUrl).set('b', 60)).toBe(header);
  });

  it('reads its own values only, all of them', () => {
    const cookie = new HostCookie('a', 'https://gateway.example.com');
    expect(cookie.valuesIn(undefined)).toEqual([]);
    expect(cookie.valuesIn('a=1; b__Host-a=2; __Host-ab=3')).toEqual([]);
    expect(cookie.valuesIn('x=__Host-a=1;__Host-a=2; __Host-a=3=4;  __Host-a=')).toEqual(['2', '3=4', '']);
  });
});
