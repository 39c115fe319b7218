/** A node of a plan in PostgreSQL's JSON of `explain (verbose, format json)`. */
export interface PlanNode {
  'Node Type': string;
  'Parent Relationship'?: string;
  'Subplan Name'?: string;
  'Join Type'?: string;
  Schema?: string;
  'Relation Name'?: string;
  'Index Name'?: string;
  Alias?: string;
  'CTE Name'?: string;
  'Function Name'?: string;
  'Group Key'?: readonly string[];
  'Index Cond'?: string;
  Filter?: string;
  'Join Filter'?: string;
  'Plan Rows': number;
  Plans?: PlanNode[];
}

export interface Index {
  /** The columns that make a row unique; null for an index that is not unique. */
  unique: readonly string[] | null;
  /** Whether it has some rows of its table only. */
  isPartial: boolean;
}

/** The properties of a database that decide how much a plan may read. */
export interface Catalogue {
  /** Tables with rows of many tenants, as `schema.table`; partitions too. */
  bigTables: ReadonlySet<string>;
  /** By `schema.index`. */
  indexes: ReadonlyMap<string, Index>;
}

/** Problems of loops begin like this. */
export const comparison = 'compares all with all';
/** Problems of scans begin like this where a limit ends them once it has found enough. */
export const untilLimit = 'until its limit ';

/**
 * The problems of a plan, by its shape alone: its estimates are those of tenants of an ordinary size, and the next tenant
 * may be a thousand times larger.
 */
export function problemsOf(plan: PlanNode, catalogue: Catalogue): string[] {
  const judge = new Judge(plan, catalogue);
  return [...new Set([...judge.wholeTables(plan, false), ...judge.comparisons(plan)])];
}

/** Nodes that pass rows on as they come, so that a limit above them ends the scan below. */
const streaming = [
  'Limit',
  'LockRows',
  'Result',
  'Subquery Scan',
  'Append',
  'Merge Append',
  'Nested Loop',
  'ProjectSet',
];

class Judge {
  readonly #catalogue: Catalogue;
  readonly #expressions = new Map<string, PlanNode>();

  constructor(plan: PlanNode, catalogue: Catalogue) {
    this.#catalogue = catalogue;
    for (const node of nodesOf(plan)) {
      const [, name] = /^CTE (.*)$/.exec(node['Subplan Name'] ?? '') ?? [];
      if (name !== undefined) this.#expressions.set(name, node);
    }
  }

  /** Big tables that are read from end to end, unless a limit ends that after as many rows. */
  wholeTables(node: PlanNode, isLimited: boolean): string[] {
    const found: string[] = [];
    if (this.#readsWhole(node) && !(isLimited && node.Filter === undefined))
      found.push(`${isLimited ? untilLimit : ''}reads all of ${tableOf(node)}`);
    const endsEarly = (isLimited || node['Node Type'] === 'Limit') && streaming.includes(node['Node Type']);
    for (const child of childrenOf(node)) {
      const isRescanned = node['Node Type'] === 'Nested Loop' && child['Parent Relationship'] === 'Inner';
      const isPlanOfItsOwn = ['InitPlan', 'SubPlan'].includes(child['Parent Relationship'] ?? '');
      found.push(...this.wholeTables(child, endsEarly && !isRescanned && !isPlanOfItsOwn));
    }
    return found;
  }

  #readsWhole(node: PlanNode): boolean {
    if (!this.#catalogue.bigTables.has(tableOf(node))) return false;
    if (node['Node Type'] === 'Seq Scan') return true;
    if (!/^Index (Only )?Scan$/.test(node['Node Type']) || node['Index Cond'] !== undefined) return false;
    return this.#indexOf(node)?.isPartial !== true;
  }

  #indexOf(node: PlanNode): Index | undefined {
    return this.#catalogue.indexes.get(`${node.Schema ?? ''}.${node['Index Name'] ?? ''}`);
  }

  /** Loops that compare each of many rows with each of many others. */
  comparisons(plan: PlanNode): string[] {
    return nodesOf(plan).flatMap((node) => [...this.#ofLoop(node), ...this.#ofSubplans(node)]);
  }

  #ofLoop(node: PlanNode): string[] {
    if (node['Node Type'] !== 'Nested Loop') return [];
    const [outer, inner] = ['Outer', 'Inner'].map((side) =>
      childrenOf(node).find((child) => child['Parent Relationship'] === side),
    );
    if (outer === undefined || inner === undefined || !this.#isMany(outer)) return [];
    const aliases = aliasesOf(outer);
    const joined = node['Join Filter'];
    if (joined !== undefined && this.#isMany(inner) && !isFoundByKey(inner, aliases))
      return [`${comparison}: ${joined}`];
    return this.#comparingScans(inner, aliases);
  }

  /** Scans that look for a row of `aliases` among many by a filter. */
  #comparingScans(plan: PlanNode, aliases: readonly string[]): string[] {
    return nodesOf(plan)
      .filter((node) => refersTo(node.Filter, aliases) && this.#isMany(node) && isScan(node))
      .filter((node) => !isFoundByKey(node, aliases))
      .map((node) => `${comparison}: ${node.Filter ?? ''}`);
  }

  #ofSubplans(node: PlanNode): string[] {
    return childrenOf(node)
      .filter((child) => child['Parent Relationship'] === 'SubPlan')
      .flatMap((child) => {
        const name = child['Subplan Name'] ?? '';
        const filter = node.Filter ?? node['Join Filter'] ?? '';
        const isAny =
          filter.includes('ANY') && filter.includes(`(${name})`) && !filter.includes(`hashed ${name}`);
        if (!this.#isMany(node)) return [];
        if (isAny && this.#isMany(child)) return [`${comparison}: ${filter}`];
        const own = aliasesOf(child);
        return this.#comparingScans(
          child,
          aliasesOf(node).filter((alias) => !own.includes(alias)),
        );
      });
  }

  /** Whether a node may return many rows for a large tenant. */
  #isMany(node: PlanNode): boolean {
    const children = childrenOf(node).filter(
      ({ 'Parent Relationship': kind = '' }) => !['InitPlan', 'SubPlan'].includes(kind),
    );
    switch (node['Node Type']) {
      case 'Limit':
        return node['Plan Rows'] > 1 && children.some((child) => this.#isMany(child));
      case 'Aggregate':
        return node['Group Key'] !== undefined && children.some((child) => this.#isMany(child));
      case 'CTE Scan': {
        const expression = this.#expressions.get(node['CTE Name'] ?? '');
        return expression === undefined || this.#isMany(expression);
      }
      case 'Function Scan':
      case 'ProjectSet':
      case 'WorkTable Scan':
      case 'Recursive Union':
        return true;
      case 'Bitmap Heap Scan':
        return this.#isBigScan(node) && !children.some((child) => this.#isUnique(child, node.Schema));
      case 'Seq Scan':
        return this.#isBigScan(node);
      case 'Index Scan':
      case 'Index Only Scan':
        return this.#isBigScan(node) && !this.#isUnique(node, node.Schema);
      default: {
        const isHalf = ['Semi', 'Anti'].includes(node['Join Type'] ?? '');
        const counted = isHalf ? children.slice(0, 1) : children;
        return counted.some((child) => this.#isMany(child));
      }
    }
  }

  #isBigScan(node: PlanNode): boolean {
    return this.#catalogue.bigTables.has(tableOf(node));
  }

  /** Whether a scan of an index finds one row at most. */
  #isUnique(node: PlanNode, schema = ''): boolean {
    const index = this.#catalogue.indexes.get(`${schema}.${node['Index Name'] ?? ''}`);
    const condition = node['Index Cond'] ?? '';
    return index?.unique?.every((column) => new RegExp(`\\b${column}"? = (?!ANY)`).test(condition)) === true;
  }
}

/** Whether an index finds the rows that belong to one of `aliases`, by more than their tenant. */
function isFoundByKey(plan: PlanNode, aliases: readonly string[]): boolean {
  return nodesOf(plan).some(({ 'Index Cond': condition = '' }) =>
    condition
      .split(' AND ')
      .some((part) => refersTo(part, aliases) && !/\.tenant_id = .*\.tenant_id/.test(part)),
  );
}

function refersTo(condition: string | undefined, aliases: readonly string[]): boolean {
  return (
    condition !== undefined &&
    aliases.some((alias) => new RegExp(`(?<![\\w"])"?${escaped(alias)}"?\\.`).test(condition))
  );
}

function escaped(alias: string): string {
  return alias.replace(/[^\w]/g, String.raw`\$&`);
}

function isScan(node: PlanNode): boolean {
  return node['Node Type'].endsWith(' Scan') && node['Node Type'] !== 'Subquery Scan';
}

function tableOf(node: PlanNode): string {
  return `${node.Schema ?? ''}.${node['Relation Name'] ?? ''}`;
}

function aliasesOf(plan: PlanNode): string[] {
  return nodesOf(plan).flatMap(({ Alias: alias }) => (alias === undefined ? [] : [alias]));
}

function childrenOf(node: PlanNode): readonly PlanNode[] {
  return node.Plans ?? [];
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...childrenOf(node).flatMap(nodesOf)];
}
