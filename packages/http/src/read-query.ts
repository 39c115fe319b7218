import { dryRunQuery } from '@gatehouse/contract/dry-run';
import { csvQuery } from '@gatehouse/contract/route';
import type { Route } from '@gatehouse/contract/routes';
import { AppError } from '@gatehouse/kit/errors';
import { queryObject, validate } from '@gatehouse/kit/validate';

/** The parameters in the query of a URL. */
export function queryOf(url: string): Record<string, unknown> {
  const start = url.indexOf('?');
  return start < 0 ? {} : queryObject(url.slice(start + 1));
}

/**
 * The query of the route, and whether it is a dry run of an administrative change. Throws a 400 that names the
 * parameter. `isList`: the route takes the query of CSV as well.
 */
export function readQuery(url = '', route: Route, isList = false): { query: unknown; dryRun: boolean } {
  const { bom, dry_run: dryRun, ...others } = queryOf(url);
  if (isList) validate(csvQuery, { bom }, 'query');
  const { administrative } = route;
  const isDryRun = administrative && validate(dryRunQuery, { dry_run: dryRun }, 'query').dry_run === 'true';
  const fields = {
    ...others,
    ...(!isList && bom !== undefined && { bom }),
    ...(!administrative && dryRun !== undefined && { dry_run: dryRun }),
  };
  return { query: ownQuery(fields, route), dryRun: isDryRun };
}

function ownQuery(fields: Record<string, unknown>, route: Route): unknown {
  if (route.query !== undefined) return validate(route.query, fields, 'query');
  const [unknown] = Object.keys(fields);
  if (unknown === undefined) return {};
  const param = unknown.slice(0, 200);
  throw new AppError('unknown_parameter', `Unknown query parameter: ${param}.`, { param });
}
