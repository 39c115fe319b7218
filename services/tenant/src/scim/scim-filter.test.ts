import { describe, expect, it } from '@jest/globals';
import { AppError } from '@gatehouse/kit/errors';
import fc from 'fast-check';
import { parseFilter, parsePath } from './scim-filter.ts';

const equal = (attribute: string, value: unknown, more: object = {}) => ({
  ...{ attribute, sub: null, where: [], value },
  ...more,
});

describe('a filter', () => {
  it.each([
    ['userName eq "Ada@Example.com"', [equal('username', 'Ada@Example.com')]],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName Eq "a"', [equal('username', 'a')]],
    ['externalId eq "a \\"b\\"" and active eq true', [equal('externalid', 'a "b"'), equal('active', true)]],
    ['(displayName eq "and")', [equal('displayname', 'and')]],
    [
      'emails[type eq "work"].value eq "a@b.example"',
      [equal('emails', 'a@b.example', { sub: 'value', where: [equal('type', 'work')] })],
    ],
    ['emails.value eq "a"', [equal('emails', 'a', { sub: 'value' })]],
    ['members[value eq "7"]', [equal('members', '7', { sub: 'value' })]],
  ])('%s is read', (filter, conditions) => {
    expect(parseFilter(filter)).toEqual(conditions);
  });

  it.each([
    ...['', 'userName', 'userName eq', 'userName co "a"', 'userName eq "a" or id eq "b"', 'userName eq "a'],
    ...['eq "a"', '(userName eq "a"', 'userName eq "a")', 'emails[type eq "work".value eq "a"', 'id eq tru'],
    ...['urn:other:2.0:User:tag eq "a"', 'members[value eq "1" and type eq "User"]', 'not (id eq "a")'],
    ...['('.repeat(900), 'a['.repeat(900)],
  ])('%j is refused', (filter) => {
    expect(() => parseFilter(filter)).toThrow(AppError);
  });

  it('is read or refused, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (filter) => {
        try {
          expect(Array.isArray(parseFilter(filter))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
        }
      }),
    );
  });
});

describe('a path', () => {
  it.each([
    ['name.givenName', { attribute: 'name', sub: 'givenname', where: [] }],
    ['members', { attribute: 'members', sub: null, where: [] }],
    ['members[value eq "1"]', { attribute: 'members', sub: null, where: [equal('value', '1')] }],
    ['emails[type eq "work"].value', { attribute: 'emails', sub: 'value', where: [equal('type', 'work')] }],
    [
      'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager',
      { attribute: null, sub: null, where: [] },
    ],
  ])('%s is read', (path, parsed) => {
    expect(parsePath(path)).toEqual(parsed);
  });

  it.each(['.', 'a b', '[value eq "1"]', 'members[value eq "1"', 'emails[type].value', '1a'])(
    '%j is refused',
    (path) => {
      expect(() => parsePath(path)).toThrow(AppError);
    },
  );
});
