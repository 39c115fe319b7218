/** The range of nearly all composed characters, without those of Hangul. */
const firstComposite = 0xc0;
const lastComposite = 0x33ff;

const hangul = /^\p{Script=Hangul}/u;
const rareLetter = /^[\u{10000}-\u{1ffff}]/u;

let families: Map<string, readonly string[]> | undefined;

/** A character and all its compositions with marks; null if unknown. */
export function formsOf(character: string): readonly string[] | null {
  if (hangul.test(character) || (rareLetter.test(character) && /^\p{L}/u.test(character))) return null;
  families ??= allFamilies();
  return families.get(character) ?? [character];
}

/** By base and by composite: the base and all its composites. */
function allFamilies(): Map<string, readonly string[]> {
  const byMember = new Map<string, string[]>();
  for (let code = firstComposite; code <= lastComposite; code++) {
    const composite = String.fromCharCode(code);
    const base = composite.normalize('NFD').charAt(0);
    if (base === composite) continue;
    const family = byMember.get(base) ?? [base];
    family.push(composite);
    byMember.set(base, family);
    byMember.set(composite, family);
  }
  return byMember;
}
