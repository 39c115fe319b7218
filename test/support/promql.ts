import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';

export interface Matcher {
  label: string;
  operator: string;
  value: string;
}

/** A selector of a query. */
export interface Selector {
  metric: string;
  matchers: Matcher[];
}

/** Labels of `by (…)` or `on (…)`, and the selectors that must have them. */
export interface Grouping {
  labels: string[];
  selectors: Selector[];
}

export interface Query {
  selectors: Selector[];
  /** Selectors whose labels no aggregation removes. */
  bare: Selector[];
  groupings: Grouping[];
}

/** Parses a query with the grammar of Prometheus. Throws for an invalid query. */
export function readQuery(text: string): Query {
  const tree = parser.parse(text);
  const groupings: Grouping[] = [];
  tree.iterate({
    enter({ type, node, from }) {
      if (type.isError) throw new Error(`not PromQL at ${from}: ${text}`);
      if (node.name !== 'GroupingLabels') return;
      const scope = node.parent?.parent;
      if (scope === null || scope === undefined) throw new Error(`labels of nothing at ${from}: ${text}`);
      groupings.push({
        labels: descendants(node, 'LabelName').map((label) => textOf(label, text)),
        selectors: selectorsIn(scope, text),
      });
    },
  });
  const { topNode } = tree;
  return {
    selectors: selectorsIn(topNode, text),
    bare: selectorsIn(topNode, text, 'AggregateExpr'),
    groupings,
  };
}

function selectorsIn(node: SyntaxNode, text: string, outside?: string): Selector[] {
  return descendants(node, 'VectorSelector', outside).map((selector) => {
    const name = selector.getChild('Identifier');
    if (name === null) throw new Error(`a selector without a metric: ${text}`);
    return {
      metric: textOf(name, text),
      matchers: descendants(selector, 'UnquotedLabelMatcher').map((matcher) => readMatcher(matcher, text)),
    };
  });
}

function readMatcher(matcher: SyntaxNode, text: string): Matcher {
  const [label = '', operator = '', value = ''] = ['LabelName', 'MatchOp', 'StringLiteral'].map((part) => {
    const node = matcher.getChild(part);
    return node === null ? '' : textOf(node, text);
  });
  return { label, operator, value: value.slice(1, -1) };
}

function descendants(node: SyntaxNode, name: string, outside?: string): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  node.cursor().iterate((at) => {
    if (at.name === outside) return false;
    if (at.name === name) found.push(at.node);
    return true;
  });
  return found;
}

function textOf(node: SyntaxNode, text: string): string {
  return text.slice(node.from, node.to);
}
