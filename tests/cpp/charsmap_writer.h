// Builds precompiled character maps in the simplest layout that is valid: a block of 256 units a node.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace check {

// byte sequences → replacements; keys without NUL.
inline std::string charsmap_blob(const std::map<std::string, std::string>& mappings) {
  struct Node {
    std::map<uint8_t, size_t> children;
    bool mapped = false;
    uint32_t value = 0;
  };
  std::vector<Node> nodes(1);
  std::string replacements;
  for (const auto& [from, to] : mappings) {
    size_t at = 0;
    for (const char c : from) {
      const auto [place, is_new] = nodes[at].children.emplace(static_cast<uint8_t>(c), nodes.size());
      at = place->second;
      if (is_new) nodes.emplace_back();
    }
    nodes[at].mapped = true;
    nodes[at].value = static_cast<uint32_t>(replacements.size());
    replacements += to + '\0';
  }
  // Node n's children stand in block n + 1, its leaf at that block's place 0; block 0 holds the root alone.
  std::vector<uint32_t> units((nodes.size() + 1) * 256, 0);
  const auto offset = [](size_t from, size_t to) { return static_cast<uint32_t>(from ^ to) << 10; };
  units[0] = offset(0, 256);
  for (size_t n = 0; n < nodes.size(); n++) {
    const size_t block = (n + 1) * 256;
    if (nodes[n].mapped) units[block] = 0x80000000u | nodes[n].value;
    for (const auto& [byte, child] : nodes[n].children) {
      const size_t place = block ^ byte;
      units[place] = byte | (nodes[child].mapped ? 1u << 8 : 0) | offset(place, (child + 1) * 256);
    }
  }
  const uint32_t size = static_cast<uint32_t>(units.size() * 4);
  std::string blob(reinterpret_cast<const char*>(&size), 4);
  blob.append(reinterpret_cast<const char*>(units.data()), size);
  return blob + replacements;
}

}  // namespace check
