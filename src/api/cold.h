// Reads of committed rows straight from the store, for pages of history. On pool threads only.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "api/call.h"
#include "store/store.h"

namespace ctrlplane::api {

template <class E>
Result<std::vector<E>> rows(store::Store& store, WorkspaceId workspace, store::ColdQuery query) {
  query.table = &store::table_for<E>();
  std::vector<E> all;
  for (Entity& e : TRY(store.read(workspace, query))) all.push_back(std::get<E>(std::move(e)));
  return all;
}

template <class E>
Result<std::optional<E>> row(store::Store& store, WorkspaceId workspace, Uuid id,
                             std::string_view column = "id") {
  store::ColdQuery query;
  query.equals = {{column, store::CellView(id)}};
  query.limit = 1;
  auto found = TRY(rows<E>(store, workspace, query));
  return found.empty() ? std::optional<E>() : std::optional<E>(std::move(found.front()));
}

// Rows with these ids, by id; those that are gone are not there.
template <class E, class IdType>
Result<std::map<IdType, E>> rows_by_id(store::Store& store, WorkspaceId workspace,
                                       const std::set<IdType>& ids) {
  std::map<IdType, E> found;
  if (ids.empty()) return found;
  std::vector<store::CellView> wanted;
  for (const IdType& id : ids) wanted.push_back(store::CellView(id.uuid));
  store::ColdQuery query;
  query.among = {{"id", std::move(wanted)}};
  query.limit = static_cast<int64_t>(ids.size());
  for (E& e : TRY(rows<E>(store, workspace, query))) found.emplace(e.id, std::move(e));
  return found;
}

template <class E>
struct ColdPage {
  std::vector<E> items;
  int64_t total = 0;
};

// Newest first unless the query says otherwise.
template <class E>
Result<ColdPage<E>> cold_page(store::Store& store, WorkspaceId workspace, store::ColdQuery query, Page page) {
  query.table = &store::table_for<E>();
  query.limit = static_cast<int64_t>(page.limit);
  query.offset = static_cast<int64_t>(page.offset);
  ColdPage<E> found;
  found.total = TRY(store.count(workspace, query));
  found.items = TRY(rows<E>(store, workspace, query));
  return found;
}

// {items, total, limit, offset} of items that were cut out already.
template <class List, class Write>
std::string cold_page_text(const List& items, int64_t total, Page page, Write&& write) {
  JsonWriter w;
  w.open().key("items").open_array();
  for (const auto& item : items) write(w, item);
  w.close_array().member("total", total).member("limit", page.limit).member("offset", page.offset).close();
  return w.take();
}

}  // namespace ctrlplane::api
