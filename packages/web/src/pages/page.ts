import type { ComponentType } from 'preact';
import type { IconName } from '../parts/icon.tsx';
import { may, type Needs, type Rights } from '../shell/rights.ts';

export const sections = ['Platform', 'Monitor', 'Build', 'Access', 'Administration'] as const;

/** A page and its place. */
export interface Page {
  /** With `/:id` last, the page is of one resource and stands in no navigation. */
  path: string;
  title: string;
  section: (typeof sections)[number];
  icon: IconName;
  needs: Needs;
  component: ComponentType<PageProps>;
}

export interface PageProps {
  /** The id of the resource in the path; empty for pages without one. */
  id: string;
}

const idSuffix = '/:id';

/** Persons without the overview begin with their first page. */
const firstPath = '/app/';

/** The page at a path, if the person may see it. */
export function pageAt(
  pages: readonly Page[],
  path: string,
  person: Rights,
): { page: Page; id: string } | null {
  const allowed = pages.filter(({ needs }) => may(person, needs));
  const exact = allowed.find((page) => page.path === path);
  if (exact !== undefined) return { page: exact, id: '' };
  const slash = path.lastIndexOf('/');
  const [folder, id] = [path.slice(0, slash), path.slice(slash + 1)];
  const first = path === firstPath ? listed(pages, person)[0] : undefined;
  if (first !== undefined) return { page: first, id: '' };
  const page = allowed.find((candidate) => candidate.path === folder + idSuffix);
  return page === undefined || id === '' ? null : { page, id: decodeURIComponent(id) };
}

/** The pages in a person's navigation. */
export function listed(pages: readonly Page[], person: Rights): Page[] {
  return pages.filter(({ path, needs }) => !path.endsWith(idSuffix) && may(person, needs));
}
