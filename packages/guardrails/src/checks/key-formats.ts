/** The characters of keys. */
export const alphabets = {
  hex: /[0-9a-f]*/y,
  base32: /[A-Z2-7]*/y,
  upper: /[A-Z0-9]*/y,
  lower: /[a-z0-9]*/y,
  base62: /[A-Za-z0-9]*/y,
  base64: /[A-Za-z0-9+/=]*/y,
  url: /[A-Za-z0-9_-]*/y,
  dotted: /[A-Za-z0-9_.-]*/y,
  tokens: /[A-Za-z0-9_.=-]*/y,
} as const;

/** The form of a maker's keys: what they begin with, and how many characters of an alphabet follow. */
export interface KeyFormat {
  prefix: string;
  alphabet: keyof typeof alphabets;
  least: number;
  /** Absent if longer tokens are keys too. */
  most?: number;
}

/** A line of the table: prefixes of one form, its alphabet, the least and the most characters after the prefix. */
type Line = readonly [prefixes: string, alphabet: KeyFormat['alphabet'], least: number, most?: number];

/** Key formats as their makers document them. A longer prefix is judged before a shorter one. */
const lines: readonly Line[] = [
  // This gateway: API keys and secrets of webhooks.
  ['gwk_', 'url', 60, 60],
  ['whsec_', 'base64', 32],
  // Providers of models.
  ['sk-proj- sk-svcacct- sk-admin- sk-None-', 'url', 40],
  ['sk-ant-api03- sk-ant-admin01- sk-ant-oat01- sk-ant-', 'url', 40],
  ['sk-or-v1-', 'hex', 64, 64],
  ['sk-lf- pk-lf-', 'url', 36, 36],
  ['sk-', 'url', 20],
  ['sk_', 'hex', 48, 48],
  ['gsk_', 'base62', 40],
  ['xai-', 'base62', 64],
  ['pplx-', 'base62', 40],
  ['hf_ api_org_', 'base62', 34, 40],
  ['r8_', 'base62', 37, 37],
  ['AIza', 'url', 35, 35],
  ['nvapi-', 'url', 60],
  ['csk-', 'lower', 40],
  ['tgp_v1_', 'url', 40],
  ['fw_', 'base62', 22, 24],
  ['pa-', 'url', 43, 43],
  ['tvly-', 'url', 30],
  ['pcsk_', 'url', 60],
  ['e2b_', 'hex', 40, 40],
  ['lsv2_pt_ lsv2_sk_', 'url', 43, 43],
  // Clouds.
  ['AKIA ASIA ABIA ACCA', 'base32', 16, 16],
  ['ABSK', 'base64', 100],
  ['bedrock-api-key-', 'base64', 40],
  ['GOCSPX-', 'url', 28, 28],
  ['ya29.', 'url', 40],
  ['LTAI', 'base62', 16, 24],
  ['AKID', 'base62', 32, 36],
  ['dop_v1_ doo_v1_ dor_v1_', 'hex', 64, 64],
  ['HRKU-', 'url', 36],
  ['fm1r_ fm2_', 'base64', 60],
  ['nfp_', 'base62', 36, 40],
  ['sbp_', 'hex', 40, 40],
  ['sb_secret_', 'url', 30],
  ['pscale_tkn_ pscale_oauth_ pscale_pw_', 'tokens', 32],
  ['dapi', 'hex', 32, 32],
  ['tskey-auth- tskey-api- tskey-client-', 'url', 20],
  ['dt0c01.', 'dotted', 80],
  // Code and packages.
  ['ghp_ gho_ ghu_ ghr_', 'base62', 36],
  ['ghs_', 'dotted', 36],
  ['github_pat_', 'url', 82],
  ['glpat- gldt- glrt- glptt- glcbt- glft- glagent- glsoat- glimt- glffct-', 'dotted', 20],
  ['npm_', 'base62', 36, 36],
  ['pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw', 'url', 50],
  ['rubygems_', 'hex', 48, 48],
  ['cio', 'base62', 32, 32],
  ['oy2', 'lower', 43, 43],
  ['dckr_pat_ dckr_oat_', 'url', 27],
  ['sgp_', 'url', 40],
  // Secrets of other stores and tools.
  ['hvs. hvb. hvr.', 'url', 24],
  ['dp.pt. dp.st. dp.ct. dp.sa.', 'dotted', 40],
  ['pul-', 'hex', 40, 40],
  ['ops_eyJ', 'base64', 200],
  ['AGE-SECRET-KEY-1', 'upper', 58, 58],
  ['PMAK-', 'url', 59, 59],
  ['glsa_', 'url', 41, 41],
  ['glc_eyJ', 'base64', 40],
  ['NRAK-', 'upper', 27, 27],
  ['sntrys_eyJ', 'tokens', 60],
  ['sntryu_', 'hex', 64, 64],
  // Payments, mail, messages.
  ['sk_live_ sk_test_ rk_live_ rk_test_', 'base62', 16],
  ['SK', 'hex', 32, 32],
  ['SG.', 'dotted', 66, 66],
  ['key-', 'hex', 32, 32],
  ['xkeysib-', 'url', 81, 81],
  ['re_', 'url', 32, 36],
  ['xoxb- xoxp- xoxa- xoxe- xoxr- xoxs- xoxo- xoxe.', 'dotted', 24],
  ['xapp-', 'url', 60],
  ['sq0atp- sq0csp-', 'url', 22],
  ['shpat_ shpca_ shppa_ shpss_', 'hex', 32, 32],
  // Work.
  ['lin_api_', 'base62', 40],
  ['ntn_', 'base62', 40],
  ['secret_', 'base62', 43, 43],
  ['ATATT3 ATCTT3', 'tokens', 100],
  ['figd_', 'url', 36],
  ['pat-na1- pat-eu1-', 'url', 36, 36],
];

export const keyFormats: readonly KeyFormat[] = lines
  .flatMap(([prefixes, alphabet, least, most]) =>
    prefixes.split(' ').map((prefix) => ({ prefix, alphabet, least, ...(most !== undefined && { most }) })),
  )
  .toSorted((one, other) => other.prefix.length - one.prefix.length);
