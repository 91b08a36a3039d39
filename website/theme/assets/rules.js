// The list of rules can be searched and filtered. Without scripts it is a plain table.
document.addEventListener("DOMContentLoaded", function () {
  "use strict";
  var tables = Array.prototype.filter.call(document.querySelectorAll("table"), function (table) {
    var heads = table.querySelectorAll("thead th");
    return heads.length === 7 && heads[0].textContent === "code";
  });
  if (!tables.length) return;
  var table = tables[0];
  var rows = Array.prototype.slice.call(table.querySelectorAll("tbody tr"));
  var chosen = {};
  var bar = document.createElement("form");
  bar.className = "rule-filter";
  bar.addEventListener("submit", function (event) { event.preventDefault(); });
  var count = document.createElement("output");
  count.setAttribute("aria-live", "polite");

  function words(row, column) {
    return row.cells[column].textContent.split(", ").map(function (word) { return word.trim(); }).filter(Boolean);
  }
  function labelled(text, control) {
    var label = document.createElement("label");
    label.append(text + " ", control);
    bar.append(label);
  }
  function show() {
    var text = search.value.trim().toLowerCase();
    var shown = 0;
    rows.forEach(function (row) {
      var fits = Object.keys(chosen).every(function (column) {
        return !chosen[column] || words(row, column).indexOf(chosen[column]) >= 0;
      });
      row.hidden = !(fits && row.textContent.toLowerCase().indexOf(text) >= 0);
      shown += row.hidden ? 0 : 1;
    });
    count.textContent = shown + " of " + rows.length + " rules";
  }

  var search = document.createElement("input");
  search.type = "search";
  search.addEventListener("input", show);
  labelled("search", search);
  [[6, "concerns"], [5, "topic"], [3, "impact"], [2, "level"], [4, "fix"]].forEach(function (pair) {
    var values = {};
    rows.forEach(function (row) { words(row, pair[0]).forEach(function (word) { values[word] = true; }); });
    var select = document.createElement("select");
    [""].concat(Object.keys(values).sort()).forEach(function (value) {
      var option = document.createElement("option");
      option.value = value;
      option.textContent = value || "any";
      select.append(option);
    });
    select.addEventListener("change", function () { chosen[pair[0]] = select.value; show(); });
    labelled(pair[1], select);
  });
  bar.append(count);
  (table.closest(".md-typeset__scrollwrap") || table).before(bar);
  show();
});
