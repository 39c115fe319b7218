/*
 * A plugin of the linter: rules of STYLE.md about where SQL, the environment and secrets may be. Each is a selector of
 * syntax and what to do instead.
 */
const patterns = {
  environment: {
    selector: "MemberExpression[object.name='process'][property.name='env']",
    message: 'Only config.ts and main.ts read the environment (STYLE.md, Shape).',
  },
  sql: {
    selector:
      'TemplateElement[value.raw=/^\\s*(select|insert into|update|delete from|with [a-z_]+ as)\\s/i], Literal[value=/^\\s*(select|insert into|update|delete from|with [a-z_]+ as)\\s/i]',
    message: 'SQL lives in *-store.ts (STYLE.md, Shape).',
  },
  'select-star': {
    selector: 'TemplateElement[value.raw=/select\\s+\\*/i]',
    message: 'List the columns (STYLE.md, Shape).',
  },
  'secret-comparison': {
    selector:
      'BinaryExpression[operator=/^[!=]==?$/]:has(> :matches(Identifier[name=/(secret|signature|hmac|digest|password|token)s?$/i], MemberExpression[property.name=/(secret|signature|hmac|digest|password|token)s?$/i])):not([right.type="Literal"]):not([right.name="undefined"])',
    message:
      'Compare secrets and signatures by timingSafeEqual: how long === takes depends on how much is equal.',
  },
  'function-as-property': {
    selector: 'AssignmentExpression[left.type="MemberExpression"][right.type=/^(Arrow)?Function/]',
    message: 'V8 keeps what such a function closes over until a full collection: name it first (ADR 21).',
  },
  'dialect-name': {
    selector: [
      'BinaryExpression[operator=/^[!=]==?$/] > Literal[value=/^(responses|messages|gemini|converse)$/]',
      'BinaryExpression:has(> :matches(Identifier[name=/^(api|dialect)$/], MemberExpression[property.name=/^(api|dialect)$/])) > Literal[value="chat"]',
      'SwitchCase > Literal[value=/^(responses|messages|gemini|converse)$/]',
      'ObjectExpression:has(> Property[key.name="messages"]):has(> Property[key.name="gemini"])',
      'TSTypeReference[typeName.name="Record"] > TSTypeParameterInstantiation > TSTypeReference:first-child[typeName.name=/^(DialectName|ApiName|UpstreamApi)$/]',
    ].join(', '),
    message:
      "Read a member of the dialect's entry: its name alone decides nothing outside packages/dialects.",
  },
  // For lists of features.
  'few-imports': {
    selector: 'Program > ImportDeclaration:nth-child(21)',
    message: 'A service lists its features with at most 20 imports: a create-<feature>.ts makes the rest.',
  },
};

const ruleOf = ({ selector, message }) => ({
  create: (context) => ({ [selector]: (node) => context.report({ node, message }) }),
});

export default {
  meta: { name: 'house' },
  rules: Object.fromEntries(Object.entries(patterns).map(([name, pattern]) => [name, ruleOf(pattern)])),
};
