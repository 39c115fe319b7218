import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { newId } from '@gatehouse/kit/ids';
import { createTestDatabase } from '@gatehouse/test/database';
import { wordsOf } from '../src/search/words.ts';
import { termsOf } from '../src/store/search/term-store.ts';
import { MemoryServiceUnderTest, type TestTenant } from './memory-service.ts';

let memory: MemoryServiceUnderTest;
beforeAll(async () => {
  memory = await MemoryServiceUnderTest.start();
});
afterAll(() => memory.stop());

/** One passage by its path, and queries that must find it before all others, and none of another script. */
const collection: Record<string, { text: string; queries: string[] }> = {
  english: {
    text: 'She said “hello” — and I don’t recall the dogs’ owner’s café; ‘naïve’ résumés weren’t re‑read.',
    queries: [
      'hello',
      '"hello"',
      '“Hello”',
      'dogs',
      "dogs'",
      'owner’s',
      'cafe',
      'café',
      'CAFÉ',
      'cafe\u0301',
      'naive resume',
    ],
  },
  german: {
    text: 'Die Größe der Türen ändert sich: Ärger mit der Straße.',
    queries: [
      'Türen',
      'TÜREN',
      'turen',
      'Ärger',
      'ärger',
      'A\u0308rger',
      'groesse Größe',
      'GRÖSSE',
      'grosse',
      'strasse',
    ],
  },
  vietnamese: {
    text: 'Quy định đổi trả hàng: Khách hàng được hoàn tiền trong vòng 30 ngày tại Đà Nẵng.',
    queries: [
      'đổi trả hàng',
      'doi tra hang',
      'hoàn tiền',
      'hoan tien',
      'ĐÀ NẴNG',
      'da nang',
      'hoàn tiền'.normalize('NFD'),
    ],
  },
  russian: {
    text: 'Возврат товара возможен в течение тридцати дней. Ёлка.',
    queries: ['возврат', 'ТОВАРА', 'елка', 'ёлка'],
  },
  ukrainian: { text: 'П’ять днів на повернення.', queries: ["п'ять", 'пʼять', 'П’ЯТЬ'] },
  greek: { text: 'Η επιστροφή γίνεται στην οδό Ερμού. ΟΔΟΣ.', queries: ['επιστροφη', 'ΕΠΙΣΤΡΟΦΉ', 'οδός'] },
  arabic: { text: 'يمكن إرجاع الكِتَاب خلال ثلاثين يومًا.', queries: ['الكتاب', 'ارجاع', 'يوما'] },
  hebrew: { text: 'ניתן להחזיר את הסֵפֶר בתוך שלושים יום.', queries: ['הספר', 'להחזיר'] },
  hindi: { text: 'किताब तीस दिन में वापस की जा सकती है।', queries: ['किताब', 'वापस'] },
  chinese: { text: '商品可以在三十天内退货。黑猫喜欢喝茶。', queries: ['退货', '三十天', '猫', '茶'] },
  japanese: {
    text: '返品は配達から三十日以内に可能です。ｶﾒﾗの保証。',
    queries: ['返品', '配達', 'カメラ', '保証'],
  },
  korean: {
    text: '배송 후 삼십 일 이내에 반품을 신청할 수 있습니다. 물을 마셔요.',
    queries: ['반품', '신청', '물', '반품'.normalize('NFD')],
  },
  spanish: {
    text: 'La auditoría empieza mañana.',
    queries: ['auditoría'.normalize('NFD'), 'auditoria', 'MAÑANA'],
  },
  decomposed: {
    text: 'Der Förderkorb trägt 형태소 und がぎぐ.'.normalize('NFD'),
    queries: ['Förderkorb', 'förderkorb'.normalize('NFD'), 'forderkorb', '형태소', 'がぎぐ'],
  },
  lao: { text: 'ລູກຄ້າສາມາດສົ່ງສິນຄ້າຄືນໄດ້ພາຍໃນສາມສິບວັນ', queries: ['ສົ່ງສິນຄ້າຄືນ', 'ສາມສິບວັນ'] },
  khmer: { text: 'អតិថិជនអាចប្រគល់ទំនិញវិញក្នុងរយៈពេលសាមសិបថ្ងៃ', queries: ['ប្រគល់ទំនិញ', 'សាមសិបថ្ងៃ'] },
  burmese: { text: 'ဝယ်သူများသည် ရက်သုံးဆယ်အတွင်း ပစ္စည်းပြန်ပေးနိုင်သည်', queries: ['ပစ္စည်း', 'ပြန်ပေး'] },
  thai: { text: 'สามารถคืนสินค้าได้ภายในสามสิบวัน', queries: ['คืนสินค้า', 'สามสิบวัน'] },
};

describe.each(['english', 'simple'])('with the analyser %s', (analyser) => {
  let tenant: TestTenant;
  beforeAll(async () => {
    tenant = memory.makeTenant({ analyser });
    for (const [path, { text }] of Object.entries(collection)) await memory.put(tenant, path, text);
  });

  it.each(Object.keys(collection))('finds %s as people write it', async (path) => {
    for (const query of collection[path]?.queries ?? [])
      expect([query, (await memory.pathsFor(tenant, query))[0]]).toEqual([query, path]);
  });
});

it('finds English words by their stem, with the analyser english', async () => {
  const tenant = memory.makeTenant();
  await memory.put(tenant, 'stems', 'The dogs’ cafés aren’t ‘opened’ before ten.');
  for (const query of ['dog', 'cafe', 'opening'])
    expect([query, await memory.pathsFor(tenant, query)]).toEqual([query, ['stems']]);
});

it('finds the same words in a document that is split apart from the service', async () => {
  const tenant = memory.makeTenant();
  const filler = '* [link](#there) and *more* `marks`\n'.repeat(400);
  await memory.put(tenant, 'long', `${filler}\n\nShe ordered “crème brûlée”.\n\n${filler}`);
  expect((await memory.pathsFor(tenant, 'creme brulee'))[0]).toBe('long');
});

it('stores the same terms whatever the locale of the database', async () => {
  const database = await createTestDatabase('memory');
  const admin = new Client({ connectionString: database.adminUrl });
  await admin.connect();
  const texts = Object.values(collection).map(({ text }) => wordsOf(`${text} TITLE İstanbul istanbul`));
  const locales = [
    `locale_provider libc locale 'C'`,
    `locale_provider builtin builtin_locale 'C.UTF-8'`,
    `locale_provider icu icu_locale 'tr-TR'`,
  ];
  const found = [];
  for (const locale of locales) {
    const name = `locale_${newId().replaceAll('-', '')}`;
    await admin.query(`create database ${name} template template0 ${locale}`);
    const url = new URL(database.adminUrl);
    url.pathname = name;
    const other = new Client({ connectionString: url.href });
    await other.connect();
    const terms = `select analyser, n, hashtextextended(word, 0) as term, count from (
      select 'english' as analyser, n, word, count from (${termsOf('english', 1)}) as e
      union all select 'simple', n, word, count from (${termsOf('simple', 1)}) as s) as found order by 1, 2, 3, 4`;
    found.push((await other.query(terms, [texts])).rows);
    await other.end();
    await admin.query(`drop database ${name}`);
  }
  await admin.end();
  await database.drop();
  expect(found[0]?.length).toBeGreaterThan(500);
  expect(found[1]).toEqual(found[0]);
  expect(found[2]).toEqual(found[0]);
});
