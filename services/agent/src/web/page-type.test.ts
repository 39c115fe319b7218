import { expect, it } from '@jest/globals';
import { pageTypeOf } from './page-type.ts';

it.each([
  ['text/html; charset=utf-8', '', 'html'],
  ['APPLICATION/XHTML+XML', '', 'html'],
  ['application/atom+xml', '', 'xml'],
  ['application/ld+json', '', 'text'],
  ['text/markdown', '<html>', 'text'],
  ['image/png', '<html>', 'other'],
  ['image/png, text/plain', '', 'text'],
  ['text/plain, */*', '', 'text'],
  [undefined, ' \n<!DOCTYPE HTML>', 'html'],
  [undefined, '\ufeff<p>', 'html'],
  ['html', '<body class="a">', 'html'],
  ['', '<bodyguard>', 'text'],
  [undefined, '<?xml version="1.0"?>', 'xml'],
  [undefined, '# Pages\n<html>', 'text'],
  [undefined, '\x7fELF\x02\x01', 'other'],
  [undefined, '', 'text'],
])('the type %j of a page that begins with %j means %s', (header, beginning, kind) => {
  expect(pageTypeOf(header, Buffer.from(beginning)).kind).toBe(kind);
});
