import { encryptedOf, withItemId } from './item-ids.ts';

it.each([
  ['rs_08dea5', 'gAAA-_=', { id: 'rs_08dea5', encrypted_content: 'gAAA-_=' }],
  ['item_1', 'gAAA', { encrypted_content: 'gAAA' }],
  ['rs_a:b', 'gAAA', { encrypted_content: 'gAAA' }],
  [undefined, 'gAAA', { encrypted_content: 'gAAA' }],
])('the id %s comes back with its content if it is one of OpenAI', (id, encrypted, members) => {
  expect(encryptedOf(withItemId(id, encrypted))).toEqual(members);
});
